"""The background: a loop that runs queued jobs, and a timetable. Decides nothing itself."""
