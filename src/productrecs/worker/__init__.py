"""Worker: runs queued jobs, and enqueues periodic jobs by their schedule."""
