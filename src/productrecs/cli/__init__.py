"""Command line: its main program, its commands, the doctor, and the processes."""
