(* Coq's binary numbers as integers of zarith, and their cases, as Coq's own table for zarith (ExtrOcamlZBigInt). *)
type t = Z.t

let zero, one = Z.zero, Z.one
let negated = Z.neg
let twice p = Z.shift_left p 1
let twice_and_one p = Z.succ (twice p)

let of_positive twice_and_one twice one p =
  if Z.leq p Z.one then one () else if Z.is_odd p then twice_and_one (Z.shift_right p 1) else twice (Z.shift_right p 1)

let of_integer zero positive negative z =
  match Z.sign z with 0 -> zero () | s -> if s > 0 then positive z else negative (Z.neg z)

let of_natural zero positive n = if Z.sign n <= 0 then zero () else positive n

(* In place of functions that Coq extracts although nothing calls them. *)
let uncalled _ = assert false
