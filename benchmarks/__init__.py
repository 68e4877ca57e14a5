"""How fast and how good are we? Beside a floor or a peer measured in the same run."""
