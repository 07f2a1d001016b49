(* Problems, plans, and what a certificate claims of them: what is proved is to be read here. docs/formats.md describes
   the same. Bytes, times and numbers of buffers are integers (Z); pools are counted from 0 (nat). *)
From Coq Require Import ZArith List.
Import ListNotations.
Open Scope Z_scope.

Record row := Row {
  number : Z;                    (* of the buffer, in the file's order *)
  size : Z;
  lifetimes : list (Z * Z);      (* half-open *)
  alignment : Z;
  offset_mod : option (Z * Z);   (* modulus, remainder *)
  no_cross : option Z;
  pinned : option Z;             (* the one offset it may have *)
  homes : list nat;              (* the pools it may live in *)
  alias_of : option (Z * Z);     (* the buffer that it lies in, and how many bytes from its start *)
  relative_to : option Z;        (* the buffer that it is tied to *)
  traffic : Z                    (* bytes moved, for costs *)
}.

Record pool := Pool {
  capacity : option Z;
  pool_alignment : Z;
  base_address : Z;
  reserved : list (Z * Z);       (* offset, size *)
  price : Z                      (* of a byte moved, in parts of a unit of cost *)
}.

Record problem := Problem {
  rows : list row;
  pools : list pool;
  conflicts : list (Z * Z);
  may_share : list (Z * Z);
  parts : Z                      (* of which one unit of cost is made *)
}.

(* A plan gives every buffer a pool and an offset. *)
Definition plan := Z -> nat * Z.
Definition pool_of (x : plan) i := fst (x i).
Definition offset (x : plan) i := snd (x i).

(* Ranges of bytes, each a start and a length, that share none. *)
Definition apart (a length_a b length_b : Z) := a + length_a <= b \/ b + length_b <= a.

(* Buffer i is, or lies in, the buffer `root`, which is no alias, d bytes from its start. *)
Inductive lies_in (p : problem) : Z -> Z -> Z -> Prop :=
  | is_root r : In r (rows p) -> alias_of r = None -> lies_in p (number r) (number r) 0
  | is_part r host k root d : In r (rows p) -> alias_of r = Some (host, k) -> lies_in p host root d ->
      lies_in p (number r) root (d + k).

(* A buffer is alive while one of those is that lie in it. *)
Definition alive p root t := exists r d from until,
  In r (rows p) /\ lies_in p (number r) root d /\ In (from, until) (lifetimes r) /\ from <= t < until.

(* A list of pairs names two buffers, or what lies in them. *)
Definition listed p (pairs : list (Z * Z)) i j := exists a b d e,
  (In (a, b) pairs \/ In (b, a) pairs) /\ lies_in p a i d /\ lies_in p b j e.

(* Buffers of one rigid group. *)
Inductive tied (p : problem) : Z -> Z -> Prop :=
  | tied_link r t j d : In r (rows p) -> relative_to r = Some t -> lies_in p t j d -> tied p (number r) j
  | tied_self i : tied p i i
  | tied_back i j : tied p i j -> tied p j i
  | tied_on i j k : tied p i j -> tied p j k -> tied p i k.

(* Buffers that must not share bytes. A pair that may share, or is tied, counts as if it could share any. *)
Definition conflict p i j :=
  listed p (conflicts p) i j \/
  ((exists t, alive p i t /\ alive p j t) /\ ~ listed p (may_share p) i j /\ ~ tied p i j).

(* What a plan must keep for one buffer. *)
Definition is_placed p (x : plan) (r : row) := exists q,
  let at_ := offset x (number r) in
  nth_error (pools p) (pool_of x (number r)) = Some q /\ In (pool_of x (number r)) (homes r) /\ 0 <= at_ /\
  (alignment r | base_address q + at_) /\ (pool_alignment q | base_address q + at_) /\
  (forall m k, offset_mod r = Some (m, k) -> (m | at_ - k)) /\
  (forall k, pinned r = Some k -> at_ = k) /\
  (forall host k, alias_of r = Some (host, k) ->
     pool_of x (number r) = pool_of x host /\ at_ = offset x host + k) /\
  (0 < size r ->
     (forall m, no_cross r = Some m -> (base_address q + at_) mod m + size r <= m) /\
     (forall from length, In (from, length) (reserved q) -> 0 < length -> apart at_ (size r) from length)).

Definition is_plan p (x : plan) :=
  (forall r, In r (rows p) -> is_placed p x r) /\
  (forall r s, In r (rows p) -> In s (rows p) -> number r <> number s ->
     alias_of r = None -> alias_of s = None -> 0 < size r -> 0 < size s -> conflict p (number r) (number s) ->
     pool_of x (number r) = pool_of x (number s) ->
     apart (offset x (number r)) (size r) (offset x (number s)) (size s)).

(* All buffers end at or below one end for each pool. *)
Definition ends_by p (x : plan) (ends : list Z) := forall r, In r (rows p) -> 0 < size r ->
  exists e, nth_error ends (pool_of x (number r)) = Some e /\ offset x (number r) + size r <= e.

Definition capacities p := map (fun q => match capacity q with Some c => c | None => 2 ^ 63 - 1 end) (pools p).

(* What certificates claim; the tops are the bytes used of each pool, unless nothing is said of it. *)
Inductive kind := plain | speed | balanced.
Inductive claim :=
  | infeasible
  | used (tops : list (option Z))
  | costs (by_ : kind) (k d : Z) (tops : list (option Z)).

(* Profiles count 0, 1, 2, ... where all pools cost the same. *)
Definition prices p by_ := match by_ with
  | plain => map price (pools p)
  | _ => match pools p with
      | q :: t => if forallb (fun o => price o =? price q) t
          then map (fun k => Z.of_nat k * parts p) (seq 0 (length (pools p))) else map price (pools p)
      | [] => []
      end
  end.

(* What a plan costs, in parts of a unit. *)
Definition cost_of p by_ (x : plan) := fold_right Z.add 0
  (map (fun r => if 0 <? size r then traffic r * nth (pool_of x (number r)) (prices p by_) 0 else 0) (rows p)).

(* The claims, each the ends of the pools, and what nothing with these ends costs less than; None: nothing has them.
   Those of tops say that no less is used of a pool, given what is used of those after it. *)
Definition top (o : option Z) := match o with Some u => u | None => 0 end.
Definition with_last (ends : list Z) u := removelast ends ++ [u].
Definition by_tops p tops count (least : option Z) := flat_map (fun q =>
  let u := top (nth q tops None) in
  if 0 <? u then [(firstn q (capacities p) ++ (u - 1) :: map top (skipn (S q) tops), least)] else [])
  (rev (seq 0 count)).

Definition claims p c := match c with
  | infeasible => [(capacities p, None)]
  | used tops => by_tops p tops (length tops) None
  | costs balanced k d tops =>
      let u := top (last tops None) in
      (if 0 <? u then [(with_last (capacities p) (u - 1), None)] else []) ++
      (with_last (capacities p) u, Some k) :: by_tops p tops (length tops - 1) (Some (k + 1))
  | costs _ k d tops => (capacities p, Some k) :: by_tops p tops (length tops) (Some (k + 1))
  end.

Definition holds p c := forall ends least x, In (ends, least) (claims p c) -> is_plan p x -> ends_by p x ends ->
  match c, least with
  | costs by_ _ d _, Some k => k * parts p <= d * cost_of p by_ x   (* the cost is k / d or more *)
  | _, _ => False
  end.
