"""Sales calendar: campaigns and closed days that the merchant entered."""
