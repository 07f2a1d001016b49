"""Re-planning of changed problems: which old places are still legal, and plans that keep many of them."""
