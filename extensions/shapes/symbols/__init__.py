"""Sizes as expressions over symbols, such as `48*b*n**2`: read, kept in one form, evaluated and compared.

A size is an integer polynomial over symbols and atoms. An atom is `floor(p / d)` or `max(p, 0)` of a polynomial `p`;
`ceil`, `align`, `min`, `max` of several and the remainder are written with these. Equal sizes have the same form, so
that two sizes share their equal parts, and a proof about them is short (docs/shapes.md).
"""
