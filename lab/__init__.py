"""Programs that measure memplan, break it, and compare it with brute force; none of them is part of the product."""
