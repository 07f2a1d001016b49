"""Programs that measure memplan, break it, and hold it against brute force; none is part of the product."""
