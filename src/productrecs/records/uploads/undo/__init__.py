"""Undo of imports: what each import changed, and how it is taken back."""
