"""Operations: their order, their lifetimes, and stripes."""
