"""The question `certify`: proofs of plans that can be checked without memplan."""
