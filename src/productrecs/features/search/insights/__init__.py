"""Search insights: what shoppers searched for, clicked on and bought, by query."""
