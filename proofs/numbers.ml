(* Coq's binary numbers as integers of zarith: what they are made of, their cases, and the functions that Extract.v
   replaces, all as Coq's own table for zarith has them (ExtrOcamlZBigInt). *)
type t = Z.t

let zero, one = Z.zero, Z.one
let twice p = Z.shift_left p 1
let twice_and_one p = Z.succ (twice p)

let of_positive twice_and_one twice one p =
  if Z.leq p Z.one then one () else if Z.is_odd p then twice_and_one (Z.shift_right p 1) else twice (Z.shift_right p 1)

let of_integer zero positive negative z =
  match Z.sign z with 0 -> zero () | s -> if s > 0 then positive z else negative (Z.neg z)

let of_natural zero positive n = if Z.sign n <= 0 then zero () else positive n

let succ, opp, abs, add, sub, mul = Z.(succ, neg, abs, add, sub, mul)
let eqb, leb, ltb, min, max, gcd = Z.(equal, leq, lt, min, max, gcd)

let div x y =
  match Z.sign y with 0 -> Z.zero | 1 -> Z.ediv x y | _ -> Z.pred (Z.ediv (Z.pred x) y)

let modulo x y =
  match Z.sign y with 0 -> x | 1 -> Z.erem x y | _ -> Z.add y (Z.succ (Z.erem (Z.pred x) y))
