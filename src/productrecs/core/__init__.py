"""Our words: ids, clocks and errors. Standard library only; knows no other floor."""
