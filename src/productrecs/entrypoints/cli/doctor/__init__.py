"""What is wrong with this installation, and how is it mended? One file per part of it."""
