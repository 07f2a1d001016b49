"""Sizes as expressions over symbols, such as `48*b*n**2`: parsing, normal form, evaluation and comparison.

A size is an integer polynomial over symbols and atoms. An atom is `floor(p / d)` or `max(p, 0)` of a polynomial `p`;
`ceil`, `align`, `min`, `max` of several values and the remainder are reduced to these. Equal sizes have the same normal
form, so sizes share common parts, and proofs about them are short (docs/shapes.md).
"""
