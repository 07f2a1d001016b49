"""Programs that measure memplan, try to break it, and compare it with brute force. None is part of the product."""
