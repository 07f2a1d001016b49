
(** val negb : bool -> bool **)

let negb = function
| true -> false
| false -> true

type nat =
| O
| S of nat

(** val option_map : ('a1 -> 'a2) -> 'a1 option -> 'a2 option **)

let option_map f = function
| Some a -> Some (f a)
| None -> None

(** val fst : ('a1 * 'a2) -> 'a1 **)

let fst = function
| (x, _) -> x

(** val snd : ('a1 * 'a2) -> 'a2 **)

let snd = function
| (_, y) -> y

(** val length : 'a1 list -> nat **)

let rec length = function
| [] -> O
| _ :: l' -> S (length l')

(** val app : 'a1 list -> 'a1 list -> 'a1 list **)

let rec app l m =
  match l with
  | [] -> m
  | a :: l1 -> a :: (app l1 m)

type comparison =
| Eq
| Lt
| Gt

(** val sub : nat -> nat -> nat **)

let rec sub n0 m =
  match n0 with
  | O -> n0
  | S k -> (match m with
            | O -> n0
            | S l -> sub k l)

module type TotalLeBool' =
 sig
  type t

  val leb : t -> t -> bool
 end

module Nat =
 struct
  (** val add : nat -> nat -> nat **)

  let rec add n0 m =
    match n0 with
    | O -> m
    | S p -> S (add p m)

  (** val mul : nat -> nat -> nat **)

  let rec mul n0 m =
    match n0 with
    | O -> O
    | S p -> add m (mul p m)

  (** val eqb : nat -> nat -> bool **)

  let rec eqb n0 m =
    match n0 with
    | O -> (match m with
            | O -> true
            | S _ -> false)
    | S n' -> (match m with
               | O -> false
               | S m' -> eqb n' m')
 end

module Pos =
 struct
  type mask =
  | IsNul
  | IsPos of Numbers.t
  | IsNeg
 end

module Coq_Pos =
 struct
  (** val pred_double : Numbers.t -> Numbers.t **)

  let rec pred_double x =
    Numbers.of_positive
      (fun p -> Numbers.twice_and_one (Numbers.twice p))
      (fun p -> Numbers.twice_and_one (pred_double p))
      (fun _ -> Numbers.one)
      x

  (** val pred_N : Numbers.t -> Numbers.t **)

  let pred_N x =
    Numbers.of_positive
      (fun p -> (Numbers.twice p))
      (fun p -> (pred_double p))
      (fun _ -> Numbers.zero)
      x

  type mask = Pos.mask =
  | IsNul
  | IsPos of Numbers.t
  | IsNeg

  (** val iter : ('a1 -> 'a1) -> 'a1 -> Numbers.t -> 'a1 **)

  let rec iter f x n0 =
    Numbers.of_positive
      (fun n' -> f (iter f (iter f x n') n'))
      (fun n' -> iter f (iter f x n') n')
      (fun _ -> f x)
      n0

  (** val testbit : Numbers.t -> Numbers.t -> bool **)

  let rec testbit p n0 =
    Numbers.of_positive
      (fun p0 -> Numbers.of_natural
                   (fun _ -> true)
                   (fun n1 -> testbit p0 (pred_N n1))
                   n0)
      (fun p0 -> Numbers.of_natural
                   (fun _ -> false)
                   (fun n1 -> testbit p0 (pred_N n1))
                   n0)
      (fun _ -> Numbers.of_natural
                  (fun _ -> true)
                  (fun _ -> false)
                  n0)
      p

  (** val of_succ_nat : nat -> Numbers.t **)

  let rec of_succ_nat = function
  | O -> Numbers.one
  | S x -> Numbers.succ (of_succ_nat x)
 end

module N =
 struct
  (** val testbit : Numbers.t -> Numbers.t -> bool **)

  let testbit a n0 =
    Numbers.of_natural
      (fun _ -> false)
      (fun p -> Coq_Pos.testbit p n0)
      a
 end

module Z =
 struct
  (** val pow_pos : Numbers.t -> Numbers.t -> Numbers.t **)

  let pow_pos z0 =
    Coq_Pos.iter (Numbers.mul z0) Numbers.one

  (** val pow : Numbers.t -> Numbers.t -> Numbers.t **)

  let pow x y =
    Numbers.of_integer
      (fun _ -> Numbers.one)
      (fun p -> pow_pos x p)
      (fun _ -> Numbers.zero)
      y

  (** val of_nat : nat -> Numbers.t **)

  let of_nat = function
  | O -> Numbers.zero
  | S n1 -> (Coq_Pos.of_succ_nat n1)

  (** val odd : Numbers.t -> bool **)

  let odd z0 =
    Numbers.of_integer
      (fun _ -> false)
      (fun p -> Numbers.of_positive
                  (fun _ -> true)
                  (fun _ -> false)
                  (fun _ -> true)
                  p)
      (fun p -> Numbers.of_positive
                  (fun _ -> true)
                  (fun _ -> false)
                  (fun _ -> true)
                  p)
      z0

  (** val testbit : Numbers.t -> Numbers.t -> bool **)

  let testbit a n0 =
    Numbers.of_integer
      (fun _ -> odd a)
      (fun p ->
      Numbers.of_integer
        (fun _ -> false)
        (fun a0 -> Coq_Pos.testbit a0 p)
        (fun a0 -> negb (N.testbit (Coq_Pos.pred_N a0) p))
        a)
      (fun _ -> false)
      n0

  (** val lcm : Numbers.t -> Numbers.t -> Numbers.t **)

  let lcm a b =
    Numbers.abs (Numbers.mul a (Numbers.div b (Numbers.gcd a b)))
 end

(** val nth : nat -> 'a1 list -> 'a1 -> 'a1 **)

let rec nth n0 l default =
  match n0 with
  | O -> (match l with
          | [] -> default
          | x :: _ -> x)
  | S m -> (match l with
            | [] -> default
            | _ :: t0 -> nth m t0 default)

(** val nth_error : 'a1 list -> nat -> 'a1 option **)

let rec nth_error l = function
| O -> (match l with
        | [] -> None
        | x :: _ -> Some x)
| S n1 -> (match l with
           | [] -> None
           | _ :: l0 -> nth_error l0 n1)

(** val last : 'a1 list -> 'a1 -> 'a1 **)

let rec last l d =
  match l with
  | [] -> d
  | a :: l0 -> (match l0 with
                | [] -> a
                | _ :: _ -> last l0 d)

(** val removelast : 'a1 list -> 'a1 list **)

let rec removelast = function
| [] -> []
| a :: l0 -> (match l0 with
              | [] -> []
              | _ :: _ -> a :: (removelast l0))

(** val rev : 'a1 list -> 'a1 list **)

let rec rev = function
| [] -> []
| x :: l' -> app (rev l') (x :: [])

module Coq__1 = struct
 (** val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list **)
 let rec map f = function
 | [] -> []
 | a :: t0 -> (f a) :: (map f t0)
end
include Coq__1

(** val flat_map : ('a1 -> 'a2 list) -> 'a1 list -> 'a2 list **)

let rec flat_map f = function
| [] -> []
| x :: t0 -> app (f x) (flat_map f t0)

(** val fold_left : ('a1 -> 'a2 -> 'a1) -> 'a2 list -> 'a1 -> 'a1 **)

let rec fold_left f l a0 =
  match l with
  | [] -> a0
  | b :: t0 -> fold_left f t0 (f a0 b)

(** val fold_right : ('a2 -> 'a1 -> 'a1) -> 'a1 -> 'a2 list -> 'a1 **)

let rec fold_right f a0 = function
| [] -> a0
| b :: t0 -> f b (fold_right f a0 t0)

(** val existsb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec existsb f = function
| [] -> false
| a :: l0 -> (||) (f a) (existsb f l0)

(** val forallb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec forallb f = function
| [] -> true
| a :: l0 -> (&&) (f a) (forallb f l0)

(** val filter : ('a1 -> bool) -> 'a1 list -> 'a1 list **)

let rec filter f = function
| [] -> []
| x :: l0 -> if f x then x :: (filter f l0) else filter f l0

(** val combine : 'a1 list -> 'a2 list -> ('a1 * 'a2) list **)

let rec combine l l' =
  match l with
  | [] -> []
  | x :: tl -> (match l' with
                | [] -> []
                | y :: tl' -> (x, y) :: (combine tl tl'))

(** val firstn : nat -> 'a1 list -> 'a1 list **)

let rec firstn n0 l =
  match n0 with
  | O -> []
  | S n1 -> (match l with
             | [] -> []
             | a :: l0 -> a :: (firstn n1 l0))

(** val skipn : nat -> 'a1 list -> 'a1 list **)

let rec skipn n0 l =
  match n0 with
  | O -> l
  | S n1 -> (match l with
             | [] -> []
             | _ :: l0 -> skipn n1 l0)

(** val seq : nat -> nat -> nat list **)

let rec seq start = function
| O -> []
| S len0 -> start :: (seq (S start) len0)

type row = { number : Numbers.t; size : Numbers.t; lifetimes : (Numbers.t * Numbers.t) list; alignment : Numbers.t;
             offset_mod : (Numbers.t * Numbers.t) option; no_cross : Numbers.t option; pinned : Numbers.t option;
             homes : nat list; alias_of : (Numbers.t * Numbers.t) option; relative_to : Numbers.t option;
             traffic : Numbers.t }

type pool = { capacity : Numbers.t option; pool_alignment : Numbers.t; base_address : Numbers.t;
              reserved : (Numbers.t * Numbers.t) list; price : Numbers.t }

type problem = { rows : row list; pools : pool list; conflicts : (Numbers.t * Numbers.t) list;
                 may_share : (Numbers.t * Numbers.t) list; parts : Numbers.t }

(** val capacities : problem -> Numbers.t list **)

let capacities p =
  map (fun q ->
    match q.capacity with
    | Some c -> c
    | None ->
      Numbers.sub
        (Z.pow (Numbers.twice Numbers.one) (Numbers.twice_and_one (Numbers.twice_and_one (Numbers.twice_and_one
          (Numbers.twice_and_one (Numbers.twice_and_one Numbers.one)))))) Numbers.one) p.pools

type kind =
| Plain
| Speed
| Balanced

type claim =
| Infeasible
| Used of Numbers.t option list
| Costs of kind * Numbers.t * Numbers.t * Numbers.t option list

(** val prices : problem -> kind -> Numbers.t list **)

let prices p = function
| Plain -> map (fun p0 -> p0.price) p.pools
| _ ->
  (match p.pools with
   | [] -> []
   | q :: t0 ->
     if forallb (fun o -> Numbers.eqb o.price q.price) t0
     then map (fun k -> Numbers.mul (Z.of_nat k) p.parts) (seq O (length p.pools))
     else map (fun p0 -> p0.price) p.pools)

(** val top : Numbers.t option -> Numbers.t **)

let top = function
| Some u -> u
| None -> Numbers.zero

(** val with_last : Numbers.t list -> Numbers.t -> Numbers.t list **)

let with_last ends u =
  app (removelast ends) (u :: [])

(** val by_tops :
    problem -> Numbers.t option list -> nat -> Numbers.t option -> (Numbers.t list * Numbers.t option) list **)

let by_tops p tops count least0 =
  flat_map (fun q ->
    let u = top (nth q tops None) in
    if Numbers.ltb Numbers.zero u
    then ((app (firstn q (capacities p)) ((Numbers.sub u Numbers.one) :: (map top (skipn (S q) tops)))), least0) :: []
    else []) (rev (seq O count))

(** val claims : problem -> claim -> (Numbers.t list * Numbers.t option) list **)

let claims p = function
| Infeasible -> ((capacities p), None) :: []
| Used tops -> by_tops p tops (length tops) None
| Costs (by_, k, _, tops) ->
  (match by_ with
   | Balanced ->
     let u = top (last tops None) in
     app
       (if Numbers.ltb Numbers.zero u then ((with_last (capacities p) (Numbers.sub u Numbers.one)), None) :: [] else [])
       (((with_last (capacities p) u), (Some
       k)) :: (by_tops p tops (sub (length tops) (S O)) (Some (Numbers.add k Numbers.one))))
   | _ -> ((capacities p), (Some k)) :: (by_tops p tops (length tops) (Some (Numbers.add k Numbers.one))))

(** val total : ('a1 -> Numbers.t) -> 'a1 list -> Numbers.t **)

let rec total w = function
| [] -> Numbers.zero
| a :: t0 -> Numbers.add (w a) (total w t0)

(** val whole : Numbers.t -> Numbers.t -> Numbers.t **)

let whole g x =
  Numbers.mul (Numbers.div x g) g

(** val room : Numbers.t -> (Numbers.t * Numbers.t) list -> Numbers.t -> Numbers.t -> Numbers.t **)

let rec room g blocks0 lo x =
  match blocks0 with
  | [] -> whole g (Numbers.max Numbers.zero (Numbers.sub x lo))
  | p :: t0 ->
    let (from, until) = p in
    Numbers.add (whole g (Numbers.max Numbers.zero (Numbers.sub (Numbers.min x from) lo)))
      (room g t0 (Numbers.max lo until) x)

(** val bezout : nat -> Numbers.t -> Numbers.t -> Numbers.t -> Numbers.t -> Numbers.t **)

let rec bezout fuel a x b y =
  match fuel with
  | O -> x
  | S f ->
    if Numbers.eqb b Numbers.zero
    then x
    else bezout f b y (Numbers.sub a (Numbers.mul (Numbers.div a b) b))
           (Numbers.sub x (Numbers.mul (Numbers.div a b) y))

(** val turns : nat **)

let turns =
  Nat.mul (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S O)))))))))))))))))))) (S (S (S (S (S (S (S (S (S
    (S O))))))))))

(** val narrow : (Numbers.t * Numbers.t) -> (Numbers.t * Numbers.t) -> (Numbers.t * Numbers.t) option **)

let narrow sr rule =
  let (step0, rest0) = sr in
  let (m, r) = rule in
  if Numbers.eqb (Numbers.modulo step0 m) Numbers.zero
  then if Numbers.eqb (Numbers.modulo (Numbers.sub rest0 r) m) Numbers.zero then Some sr else None
  else let g = Numbers.gcd step0 m in
       if negb (Numbers.eqb (Numbers.modulo (Numbers.sub r rest0) g) Numbers.zero)
       then None
       else let more = Numbers.div m g in
            let both =
              Numbers.add rest0
                (Numbers.mul step0
                  (Numbers.modulo
                    (Numbers.mul (Numbers.div (Numbers.sub r rest0) g)
                      (bezout turns (Numbers.div step0 g) Numbers.one more Numbers.zero)) more))
            in
            let next0 = Numbers.mul (Numbers.div step0 g) m in
            if (&&)
                 ((&&) ((&&) (Numbers.ltb Numbers.zero next0) (Numbers.eqb next0 (Z.lcm step0 m)))
                   (Numbers.eqb (Numbers.modulo (Numbers.sub both rest0) step0) Numbers.zero))
                 (Numbers.eqb (Numbers.modulo (Numbers.sub both r) m) Numbers.zero)
            then Some (next0, (Numbers.modulo both next0))
            else Some sr

(** val narrow_all : (Numbers.t * Numbers.t) -> (Numbers.t * Numbers.t) list -> (Numbers.t * Numbers.t) option **)

let rec narrow_all sr = function
| [] -> Some sr
| rule :: t0 -> (match narrow sr rule with
                 | Some more -> narrow_all more t0
                 | None -> None)

type spot = { step : Numbers.t; rest : Numbers.t; base : Numbers.t; walls : (Numbers.t * Numbers.t) list }

(** val crosses : Numbers.t -> Numbers.t option -> Numbers.t -> Numbers.t -> bool **)

let crosses size0 page0 base0 x =
  match page0 with
  | Some m -> Numbers.ltb m (Numbers.add (Numbers.modulo (Numbers.add base0 x) m) size0)
  | None -> false

(** val on_grid : Numbers.t -> Numbers.t option -> Numbers.t -> (Numbers.t * Numbers.t) -> bool **)

let on_grid size0 page0 base0 sr =
  match page0 with
  | Some m -> Numbers.leb (Numbers.add (Numbers.modulo (Numbers.add base0 (snd sr)) (Numbers.gcd (fst sr) m)) size0) m
  | None -> true

(** val over_walls : Numbers.t -> (Numbers.t * Numbers.t) list -> Numbers.t -> Numbers.t -> Numbers.t **)

let rec over_walls size0 walls0 x top0 =
  match walls0 with
  | [] -> top0
  | y :: t0 ->
    let (from, until) = y in
    over_walls size0 t0 x
      (if (&&) (Numbers.ltb from (Numbers.add x size0)) (Numbers.ltb x until) then Numbers.max top0 until else top0)

(** val next : Numbers.t -> Numbers.t option -> Numbers.t option -> spot -> Numbers.t -> Numbers.t option **)

let next size0 pin0 page0 sp x =
  match pin0 with
  | Some k ->
    if Numbers.leb x k
    then let x0 = over_walls size0 sp.walls k (Numbers.add k (Numbers.modulo (Numbers.sub sp.rest k) sp.step)) in
         Some
         (if crosses size0 page0 sp.base x0
          then (match page0 with
                | Some m -> Numbers.add x0 (Numbers.modulo (Numbers.opp (Numbers.add sp.base x0)) m)
                | None -> x0)
          else x0)
    else None
  | None ->
    let x0 = over_walls size0 sp.walls x (Numbers.add x (Numbers.modulo (Numbers.sub sp.rest x) sp.step)) in
    Some
    (if crosses size0 page0 sp.base x0
     then (match page0 with
           | Some m -> Numbers.add x0 (Numbers.modulo (Numbers.opp (Numbers.add sp.base x0)) m)
           | None -> x0)
     else x0)

(** val climb :
    Numbers.t -> Numbers.t option -> Numbers.t option -> nat -> spot -> Numbers.t -> Numbers.t -> Numbers.t option **)

let rec climb size0 pin0 page0 fuel sp last0 x =
  if Numbers.ltb last0 x
  then None
  else (match fuel with
        | O -> Some x
        | S f ->
          (match next size0 pin0 page0 sp x with
           | Some y -> if Numbers.leb y x then Some x else climb size0 pin0 page0 f sp last0 y
           | None -> None))

(** val many : nat **)

let many =
  Nat.mul (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
    (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
    (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
    O)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) (S (S (S (S
    (S (S (S (S (S (S O))))))))))

(** val append : Numbers.t -> Numbers.t -> Numbers.t **)

let rec append i j =
  Numbers.of_positive
    (fun ii -> Numbers.twice_and_one (append ii j))
    (fun ii -> Numbers.twice (append ii j))
    (fun _ -> j)
    i

module PositiveMap =
 struct
  type key = Numbers.t

  type 'a tree =
  | Leaf
  | Node of 'a tree * 'a option * 'a tree

  type 'a t = 'a tree

  (** val empty : 'a1 t **)

  let empty =
    Leaf

  (** val find : key -> 'a1 t -> 'a1 option **)

  let rec find i = function
  | Leaf -> None
  | Node (l, o, r) -> (Numbers.of_positive
                         (fun ii -> find ii r)
                         (fun ii -> find ii l)
                         (fun _ -> o)
                         i)

  (** val add : key -> 'a1 -> 'a1 t -> 'a1 t **)

  let rec add i v = function
  | Leaf ->
    (Numbers.of_positive
       (fun ii -> Node (Leaf, None, (add ii v Leaf)))
       (fun ii -> Node ((add ii v Leaf), None, Leaf))
       (fun _ -> Node (Leaf, (Some v), Leaf))
       i)
  | Node (l, o, r) ->
    (Numbers.of_positive
       (fun ii -> Node (l, o, (add ii v r)))
       (fun ii -> Node ((add ii v l), o, r))
       (fun _ -> Node (l, (Some v), r))
       i)

  (** val remove : key -> 'a1 t -> 'a1 t **)

  let rec remove i m =
    Numbers.of_positive
      (fun ii ->
      match m with
      | Leaf -> Leaf
      | Node (l, o, r) ->
        (match l with
         | Leaf ->
           (match o with
            | Some _ -> Node (l, o, (remove ii r))
            | None ->
              (match remove ii r with
               | Leaf -> Leaf
               | Node (t0, o0, t1) -> Node (Leaf, None, (Node (t0, o0, t1)))))
         | Node (_, _, _) -> Node (l, o, (remove ii r))))
      (fun ii ->
      match m with
      | Leaf -> Leaf
      | Node (l, o, r) ->
        (match o with
         | Some _ -> Node ((remove ii l), o, r)
         | None ->
           (match r with
            | Leaf ->
              (match remove ii l with
               | Leaf -> Leaf
               | Node (t0, o0, t1) -> Node ((Node (t0, o0, t1)), None, Leaf))
            | Node (_, _, _) -> Node ((remove ii l), o, r))))
      (fun _ ->
      match m with
      | Leaf -> Leaf
      | Node (l, _, r) ->
        (match l with
         | Leaf -> (match r with
                    | Leaf -> Leaf
                    | Node (_, _, _) -> Node (l, None, r))
         | Node (_, _, _) -> Node (l, None, r)))
      i

  (** val xelements : 'a1 t -> key -> (key * 'a1) list **)

  let rec xelements m i =
    match m with
    | Leaf -> []
    | Node (l, o, r) ->
      (match o with
       | Some x ->
         app (xelements l (append i (Numbers.twice Numbers.one))) ((i,
           x) :: (xelements r (append i (Numbers.twice_and_one Numbers.one))))
       | None ->
         app (xelements l (append i (Numbers.twice Numbers.one)))
           (xelements r (append i (Numbers.twice_and_one Numbers.one))))

  (** val elements : 'a1 t -> (key * 'a1) list **)

  let elements m =
    xelements m Numbers.one

  (** val xmapi : (key -> 'a1 -> 'a2) -> 'a1 t -> key -> 'a2 t **)

  let rec xmapi f m i =
    match m with
    | Leaf -> Leaf
    | Node (l, o, r) ->
      Node ((xmapi f l (append i (Numbers.twice Numbers.one))), (option_map (f i) o),
        (xmapi f r (append i (Numbers.twice_and_one Numbers.one))))

  (** val mapi : (key -> 'a1 -> 'a2) -> 'a1 t -> 'a2 t **)

  let mapi f m =
    xmapi f m Numbers.one

  (** val map : ('a1 -> 'a2) -> 'a1 t -> 'a2 t **)

  let map f m =
    mapi (fun _ -> f) m
 end

module M =
 struct
  (** val path : Numbers.t -> Numbers.t **)

  let path i =
    Numbers.of_integer
      (fun _ -> Numbers.one)
      (fun p -> Numbers.twice p)
      (fun p -> Numbers.twice_and_one p)
      i

  (** val key : Numbers.t -> Numbers.t **)

  let key p =
    Numbers.of_positive
      (fun q -> Numbers.opp q)
      (fun q -> q)
      (fun _ -> Numbers.zero)
      p

  type 'a t = 'a PositiveMap.t

  (** val empty : 'a1 t **)

  let empty =
    PositiveMap.empty

  (** val find : Numbers.t -> 'a1 t -> 'a1 option **)

  let find i m =
    PositiveMap.find (path i) m

  (** val mem : Numbers.t -> 'a1 t -> bool **)

  let mem i m =
    match find i m with
    | Some _ -> true
    | None -> false

  (** val add : Numbers.t -> 'a1 -> 'a1 t -> 'a1 PositiveMap.t **)

  let add i a m =
    PositiveMap.add (path i) a m

  (** val remove : Numbers.t -> 'a1 t -> 'a1 PositiveMap.t **)

  let remove i m =
    PositiveMap.remove (path i) m

  (** val map : ('a1 -> 'a2) -> 'a1 t -> 'a2 PositiveMap.t **)

  let map =
    PositiveMap.map

  (** val elements : 'a1 t -> (Numbers.t * 'a1) list **)

  let elements m =
    Coq__1.map (fun e -> ((key (fst e)), (snd e))) (PositiveMap.elements m)
 end

type pairs = unit M.t M.t

(** val has_pair : pairs -> Numbers.t -> Numbers.t -> bool **)

let has_pair s i j =
  match M.find i s with
  | Some t0 -> M.mem j t0
  | None -> false

(** val add_pair : Numbers.t -> Numbers.t -> pairs -> pairs **)

let add_pair i j s =
  M.add i (M.add j () (match M.find i s with
                       | Some t0 -> t0
                       | None -> M.empty)) s

type item = { id : Numbers.t; bytes : Numbers.t; lives : (Numbers.t * Numbers.t) list; group : Numbers.t;
              pin : Numbers.t option; page : Numbers.t option; opens : nat list; spots : spot option list }

type relations = { named : pairs; sharing : pairs; ties : bool }

(** val overlap : (Numbers.t * Numbers.t) list -> (Numbers.t * Numbers.t) list -> bool **)

let overlap k l =
  existsb (fun a -> existsb (fun b -> Numbers.ltb (Numbers.max (fst a) (fst b)) (Numbers.min (snd a) (snd b))) l) k

(** val meets : relations -> item -> item -> bool **)

let meets rel0 a b =
  (&&) (negb (Numbers.eqb a.id b.id))
    ((||) (has_pair rel0.named a.id b.id)
      ((&&) (overlap a.lives b.lives)
        ((||) (negb rel0.ties) ((&&) (negb (Numbers.eqb a.group b.group)) (negb (has_pair rel0.sharing a.id b.id))))))

(** val wall : nat -> item -> (Numbers.t * Numbers.t) list **)

let wall q a =
  match a.pin with
  | Some k ->
    (match a.opens with
     | [] -> []
     | o :: l -> (match l with
                  | [] -> if Nat.eqb o q then (k, (Numbers.add k a.bytes)) :: [] else []
                  | _ :: _ -> []))
  | None -> []

(** val number_rows : row list -> row M.t **)

let rec number_rows = function
| [] -> M.empty
| r :: t0 -> M.add r.number r (number_rows t0)

(** val ascending : row list -> bool **)

let rec ascending = function
| [] -> true
| r :: t0 -> (match t0 with
              | [] -> true
              | s :: _ -> (&&) (Numbers.ltb r.number s.number) (ascending t0))

(** val root_of : row M.t -> nat -> Numbers.t -> (Numbers.t * Numbers.t) option **)

let rec root_of by_number fuel i =
  match M.find i by_number with
  | Some r ->
    (match fuel with
     | O -> None
     | S f ->
       (match r.alias_of with
        | Some p0 ->
          let (host, k) = p0 in
          (match root_of by_number f host with
           | Some p1 -> let (root, d) = p1 in Some (root, (Numbers.add d k))
           | None -> None)
        | None -> Some (i, Numbers.zero)))
  | None -> None

(** val parts_of : (row * Numbers.t) list M.t -> Numbers.t -> (row * Numbers.t) list **)

let parts_of g j =
  match M.find j g with
  | Some l -> l
  | None -> []

(** val group_parts : row M.t -> nat -> row list -> (row * Numbers.t) list M.t option **)

let rec group_parts by_number fuel = function
| [] -> Some M.empty
| r :: t0 ->
  (match root_of by_number fuel r.number with
   | Some p0 ->
     let (j, d) = p0 in
     (match group_parts by_number fuel t0 with
      | Some g -> Some (M.add j ((r, d) :: (parts_of g j)) g)
      | None -> None)
   | None -> None)

(** val pair_up : row M.t -> nat -> (Numbers.t * Numbers.t) list -> pairs option **)

let rec pair_up by_number fuel = function
| [] -> Some M.empty
| y :: t0 ->
  let (a, b) = y in
  (match root_of by_number fuel a with
   | Some p0 ->
     let (i, _) = p0 in
     (match root_of by_number fuel b with
      | Some p1 ->
        let (j, _) = p1 in
        (match pair_up by_number fuel t0 with
         | Some s -> Some (add_pair i j (add_pair j i s))
         | None -> None)
      | None -> None)
   | None -> None)

(** val group_of : Numbers.t M.t -> Numbers.t -> Numbers.t **)

let group_of g i =
  match M.find i g with
  | Some k -> k
  | None -> i

(** val join : row M.t -> nat -> Numbers.t M.t -> row -> Numbers.t PositiveMap.t **)

let join by_number fuel g r =
  match r.relative_to with
  | Some t0 ->
    (match root_of by_number fuel t0 with
     | Some p0 ->
       let (j, _) = p0 in
       let a = group_of g r.number in
       let b = group_of g j in
       M.map (fun k -> if Numbers.eqb k a then b else k) (M.add r.number a (M.add j b (M.add a a g)))
     | None -> g)
  | None -> g

(** val joins : row M.t -> nat -> Numbers.t M.t -> row -> bool **)

let joins by_number fuel g r =
  match r.relative_to with
  | Some t0 ->
    (match root_of by_number fuel t0 with
     | Some p0 -> let (j, _) = p0 in Numbers.eqb (group_of g r.number) (group_of g j)
     | None -> false)
  | None -> true

(** val pins_of : (row * Numbers.t) list -> Numbers.t list **)

let pins_of ps =
  flat_map (fun rd -> match (fst rd).pinned with
                      | Some k -> (Numbers.sub k (snd rd)) :: []
                      | None -> []) ps

(** val one_of : Numbers.t list -> Numbers.t option **)

let one_of = function
| [] -> None
| k :: t0 -> Some (if forallb (Numbers.eqb k) t0 then k else Numbers.opp Numbers.one)

(** val core : problem -> (row * Numbers.t) list M.t -> Numbers.t M.t -> row -> item **)

let core p g groups r =
  let ps = parts_of g r.number in
  { id = r.number; bytes = r.size; lives = (flat_map (fun rd -> (fst rd).lifetimes) ps); group =
  (group_of groups r.number); pin = (one_of (pins_of ps)); page = r.no_cross; opens =
  (filter (fun q -> forallb (fun rd -> existsb (Nat.eqb q) (fst rd).homes) ps) (seq O (length p.pools))); spots = [] }

(** val rules_of : pool -> (row * Numbers.t) list -> (Numbers.t * Numbers.t) list **)

let rules_of q ps =
  flat_map (fun rd ->
    app (match (fst rd).offset_mod with
         | Some p0 -> let (m, k) = p0 in (m, (Numbers.sub k (snd rd))) :: []
         | None -> []) (((fst rd).alignment,
      (Numbers.sub (Numbers.opp q.base_address) (snd rd))) :: ((q.pool_alignment,
      (Numbers.sub (Numbers.opp q.base_address) (snd rd))) :: []))) ps

(** val bars_of : pool -> (Numbers.t * Numbers.t) list **)

let bars_of q =
  flat_map (fun fl ->
    if Numbers.ltb Numbers.zero (snd fl) then ((fst fl), (Numbers.add (fst fl) (snd fl))) :: [] else []) q.reserved

(** val spot_of : relations -> item list -> item -> nat -> pool -> (row * Numbers.t) list -> spot option **)

let spot_of rel0 fixed a n0 q ps =
  if negb (existsb (Nat.eqb n0) a.opens)
  then None
  else (match narrow_all (Numbers.one, Numbers.zero) (rules_of q ps) with
        | Some sr ->
          if on_grid a.bytes a.page q.base_address sr
          then Some { step = (fst sr); rest = (snd sr); base = q.base_address; walls =
                 (app (bars_of q)
                   (flat_map (fun b ->
                     match wall n0 b with
                     | [] -> []
                     | p0 :: l -> if meets rel0 a b then p0 :: l else []) fixed)) }
          else None
        | None -> None)

(** val finish : problem -> relations -> item list -> (row * Numbers.t) list M.t -> item -> item **)

let finish p rel0 fixed g a =
  { id = a.id; bytes = a.bytes; lives = a.lives; group = a.group; pin = a.pin; page = a.page; opens = a.opens; spots =
    (map (fun nq -> spot_of rel0 fixed a (fst nq) (snd nq) (parts_of g a.id))
      (combine (seq O (length p.pools)) p.pools)) }

(** val is_sane : problem -> bool **)

let is_sane p =
  (&&)
    (forallb (fun r ->
      (&&)
        ((&&) (Numbers.ltb Numbers.zero r.alignment)
          (match r.offset_mod with
           | Some p0 -> let (m, _) = p0 in Numbers.ltb Numbers.zero m
           | None -> true)) (match r.no_cross with
                             | Some m -> Numbers.ltb Numbers.zero m
                             | None -> true)) p.rows)
    (forallb (fun q -> Numbers.ltb Numbers.zero q.pool_alignment) p.pools)

type instance = { solid : item list; index : item M.t; rel : relations; bars : (Numbers.t * Numbers.t) list list;
                  part_lists : (row * Numbers.t) list M.t }

(** val is_solid : row -> bool **)

let is_solid r =
  match r.alias_of with
  | Some _ -> false
  | None -> Numbers.ltb Numbers.zero r.size

(** val has_ties : problem -> bool **)

let has_ties p =
  match p.may_share with
  | [] -> existsb (fun r -> match r.relative_to with
                            | Some _ -> true
                            | None -> false) p.rows
  | _ :: _ -> true

(** val compile : problem -> instance option **)

let compile p =
  let m = number_rows p.rows in
  let fuel = length p.rows in
  let groups = fold_left (join m fuel) p.rows M.empty in
  if negb ((&&) ((&&) (ascending p.rows) (is_sane p)) (forallb (joins m fuel groups) p.rows))
  then None
  else (match group_parts m fuel p.rows with
        | Some g ->
          (match pair_up m fuel p.conflicts with
           | Some c ->
             (match pair_up m fuel p.may_share with
              | Some s ->
                let rel0 = { named = c; sharing = s; ties = (has_ties p) } in
                let cores = map (core p g groups) (filter is_solid p.rows) in
                let fixed = filter (fun a -> match a.pin with
                                             | Some _ -> true
                                             | None -> false) cores in
                let items = map (finish p rel0 fixed g) cores in
                Some { solid = items; index = (fold_left (fun m0 a -> M.add a.id a m0) items M.empty); rel = rel0;
                bars = (map bars_of p.pools); part_lists = g }
              | None -> None)
           | None -> None)
        | None -> None)

module Sort =
 functor (X:TotalLeBool') ->
 struct
  (** val merge : X.t list -> X.t list -> X.t list **)

  let rec merge l1 l2 =
    let rec merge_aux l3 =
      match l1 with
      | [] -> l3
      | a1 :: l1' ->
        (match l3 with
         | [] -> l1
         | a2 :: l2' -> if X.leb a1 a2 then a1 :: (merge l1' l3) else a2 :: (merge_aux l2'))
    in merge_aux l2

  (** val merge_list_to_stack : X.t list option list -> X.t list -> X.t list option list **)

  let rec merge_list_to_stack stack l =
    match stack with
    | [] -> (Some l) :: []
    | y :: stack' ->
      (match y with
       | Some l' -> None :: (merge_list_to_stack stack' (merge l' l))
       | None -> (Some l) :: stack')

  (** val merge_stack : X.t list option list -> X.t list **)

  let rec merge_stack = function
  | [] -> []
  | y :: stack' -> (match y with
                    | Some l -> merge l (merge_stack stack')
                    | None -> merge_stack stack')

  (** val iter_merge : X.t list option list -> X.t list -> X.t list **)

  let rec iter_merge stack = function
  | [] -> merge_stack stack
  | a :: l' -> iter_merge (merge_list_to_stack stack (a :: [])) l'

  (** val sort : X.t list -> X.t list **)

  let sort =
    iter_merge []

  (** val flatten_stack : X.t list option list -> X.t list **)

  let rec flatten_stack = function
  | [] -> []
  | o :: stack' -> (match o with
                    | Some l -> app l (flatten_stack stack')
                    | None -> flatten_stack stack')
 end

type lows = Numbers.t option list

type state = Numbers.t -> lows option

type reference =
| By_lemma of Numbers.t
| By_set of Numbers.t * Numbers.t * Numbers.t * Numbers.t
| By_worth of Numbers.t
| By_nothing

type clique = { free : item list; blocks : (Numbers.t * Numbers.t) list list }

module Start =
 struct
  type t = Numbers.t * Numbers.t

  (** val leb : t -> t -> bool **)

  let leb a b =
    Numbers.leb (fst a) (fst b)
 end

module SortStarts = Sort(Start)

module High =
 struct
  type t = Numbers.t * item

  (** val leb : t -> t -> bool **)

  let leb a b =
    Numbers.leb (fst b) (fst a)
 end

module SortHigh = Sort(High)

(** val put : nat -> Numbers.t option -> lows -> lows **)

let rec put q v = function
| [] -> []
| h :: t0 -> (match q with
              | O -> v :: t0
              | S q0 -> h :: (put q0 v t0))

(** val numbered : 'a1 list -> (nat * 'a1) list **)

let numbered l =
  combine (seq O (length l)) l

(** val is_gone : lows -> bool **)

let is_gone ls =
  forallb (fun v -> match v with
                    | Some _ -> false
                    | None -> true) ls

(** val legal : Numbers.t list -> item -> nat -> Numbers.t -> Numbers.t option **)

let legal ends a q x =
  match nth_error a.spots q with
  | Some o ->
    (match o with
     | Some sp ->
       (match nth_error ends q with
        | Some e -> climb a.bytes a.pin a.page many sp (Numbers.sub e a.bytes) x
        | None -> None)
     | None -> None)
  | None -> None

(** val first : Numbers.t list -> item -> lows **)

let first ends a =
  map (fun q -> legal ends a q Numbers.zero) (seq O (length ends))

(** val at_first : instance -> Numbers.t list -> state **)

let at_first i ends i0 =
  match M.find i0 i.index with
  | Some a -> Some (first ends a)
  | None -> None

(** val covers : lows -> lows -> bool **)

let rec covers l k =
  match l with
  | [] -> (match k with
           | [] -> true
           | o :: k0 -> (match o with
                         | Some _ -> false
                         | None -> covers [] k0))
  | o :: l0 ->
    (match o with
     | Some a ->
       (match k with
        | [] -> true
        | o0 :: k0 -> (match o0 with
                       | Some b -> (&&) (Numbers.leb a b) (covers l0 k0)
                       | None -> covers l0 k0))
     | None -> (match k with
                | [] -> true
                | o0 :: k0 -> (match o0 with
                               | Some _ -> false
                               | None -> covers l0 k0)))

(** val is_lemma_in : (Numbers.t * lows) list -> state -> bool **)

let is_lemma_in lemma low =
  forallb (fun e -> match low (fst e) with
                    | Some k -> covers (snd e) k
                    | None -> false) lemma

(** val within : bool list -> lows -> bool **)

let rec within mask0 = function
| [] -> true
| o :: l0 ->
  (match o with
   | Some _ -> (match mask0 with
                | [] -> false
                | b :: mask1 -> (&&) b (within mask1 l0))
   | None -> (match mask0 with
              | [] -> within [] l0
              | _ :: mask1 -> within mask1 l0))

(** val chosen : bool list -> nat list **)

let chosen mask0 =
  map fst (filter snd (numbered mask0))

(** val inside : bool list -> state -> clique -> item list **)

let inside mask0 low s =
  filter (fun a -> match low a.id with
                   | Some l -> within mask0 l
                   | None -> false) s.free

(** val grid : item -> nat -> Numbers.t * Numbers.t **)

let grid a q =
  match nth_error a.spots q with
  | Some o -> (match o with
               | Some sp -> (sp.step, sp.rest)
               | None -> (Numbers.one, Numbers.zero))
  | None -> (Numbers.one, Numbers.zero)

(** val fits : Numbers.t -> Numbers.t -> nat -> item -> bool **)

let fits g r q a =
  (&&) (Numbers.eqb (Numbers.modulo (fst (grid a q)) g) Numbers.zero)
    (Numbers.eqb (Numbers.modulo (Numbers.sub (snd (grid a q)) r) g) Numbers.zero)

(** val up : Numbers.t -> Numbers.t -> Numbers.t -> Numbers.t **)

let up g r x =
  Numbers.add x (Numbers.modulo (Numbers.sub r x) g)

(** val cells : Numbers.t -> item -> Numbers.t **)

let cells g a =
  Numbers.add a.bytes (Numbers.modulo (Numbers.opp a.bytes) g)

(** val round_up : Numbers.t -> Numbers.t -> (Numbers.t * Numbers.t) list -> (Numbers.t * Numbers.t) list **)

let round_up g r bs =
  map (fun b -> ((up g r (fst b)), (up g r (snd b)))) bs

(** val too_long :
    Numbers.t -> Numbers.t -> nat -> Numbers.t -> (Numbers.t * Numbers.t) list -> (Numbers.t * item) list -> Numbers.t
    -> Numbers.t -> Numbers.t -> bool **)

let rec too_long g r q e bs l at_ amount waste =
  match l with
  | [] -> false
  | y :: t0 ->
    let (low, a) = y in
    if fits g r q a
    then let at_0 = Numbers.min at_ low in
         let amount0 = Numbers.add amount (cells g a) in
         let waste0 = Numbers.max waste (Numbers.modulo (Numbers.opp a.bytes) g) in
         (||) (Numbers.ltb (room Numbers.one bs at_0 (Numbers.add e waste0)) amount0)
           (too_long g r q e bs t0 at_0 amount0 waste0)
    else too_long g r q e bs t0 at_ amount waste

(** val low_in : state -> nat -> item -> Numbers.t option **)

let low_in low q a =
  match low a.id with
  | Some l -> (match nth_error l q with
               | Some o -> o
               | None -> None)
  | None -> None

(** val one_pool : Numbers.t list -> Numbers.t -> Numbers.t -> nat -> state -> clique -> item list -> bool **)

let one_pool ends g r q low s members =
  match nth_error ends q with
  | Some e ->
    (match nth_error s.blocks q with
     | Some bs ->
       let rows0 = flat_map (fun a -> match low_in low q a with
                                      | Some v -> (v, a) :: []
                                      | None -> []) members in
       let sorted = SortHigh.sort rows0 in
       (||) (existsb (fun a -> (&&) (fits g r q a) (match low_in low q a with
                                                    | Some _ -> false
                                                    | None -> true)) members)
         (match sorted with
          | [] -> false
          | p :: _ -> let (top0, _) = p in too_long g r q e (round_up g r bs) sorted top0 Numbers.zero Numbers.zero)
     | None -> false)
  | None -> false

(** val blocks_in : clique -> nat -> (Numbers.t * Numbers.t) list **)

let blocks_in s q =
  match nth_error s.blocks q with
  | Some bs -> bs
  | None -> []

(** val room_in : Numbers.t list -> Numbers.t -> clique -> nat -> Numbers.t **)

let room_in ends g s q =
  match nth_error ends q with
  | Some e -> room g (blocks_in s q) Numbers.zero e
  | None -> Numbers.zero

(** val is_set_full : Numbers.t list -> clique -> Numbers.t -> Numbers.t -> Numbers.t -> state -> bool **)

let is_set_full ends s g r bits low =
  let mask0 = map (fun q -> Z.testbit bits (Z.of_nat q)) (seq O (length ends)) in
  let members = inside mask0 low s in
  (&&) (Numbers.ltb Numbers.zero g)
    (match chosen mask0 with
     | [] -> false
     | q :: l ->
       (match l with
        | [] -> one_pool ends g r q low s members
        | n0 :: l0 ->
          Numbers.ltb (total (room_in ends g s) (q :: (n0 :: l0)))
            (total (fun i -> i.bytes) (filter (fun a -> Numbers.eqb (Numbers.modulo a.bytes g) Numbers.zero) members))))

type known = { sets : clique M.t; lemmas : (Numbers.t * lows) list M.t; worths : (state -> bool) M.t;
               set_count : Numbers.t; lemma_count : Numbers.t; worth_count : Numbers.t }

(** val nothing_known : known **)

let nothing_known =
  { sets = M.empty; lemmas = M.empty; worths = M.empty; set_count = Numbers.zero; lemma_count = Numbers.zero;
    worth_count = Numbers.zero }

(** val refuted : Numbers.t list -> known -> state -> reference -> Numbers.t list -> bool **)

let refuted ends k low ref changed =
  (||) (existsb (fun i -> match low i with
                          | Some l -> is_gone l
                          | None -> false) changed)
    (match ref with
     | By_lemma k0 -> (match M.find k0 k.lemmas with
                       | Some l -> is_lemma_in l low
                       | None -> false)
     | By_set (k0, g, r, bits) ->
       (match M.find k0 k.sets with
        | Some c -> is_set_full ends c g r bits low
        | None -> false)
     | By_worth k0 -> (match M.find k0 k.worths with
                       | Some f -> f low
                       | None -> false)
     | By_nothing -> false)

(** val all_meet : instance -> item list -> bool **)

let rec all_meet i = function
| [] -> true
| a :: t0 -> (&&) (forallb (meets i.rel a) t0) (all_meet i t0)

(** val clique_of : instance -> item list -> clique **)

let clique_of i members =
  { free = (filter (fun a -> match a.pin with
                             | Some _ -> false
                             | None -> true) members); blocks =
    (map (fun qb -> SortStarts.sort (app (snd qb) (flat_map (wall (fst qb)) members))) (numbered i.bars)) }

(** val is_alive : Numbers.t -> item -> bool **)

let is_alive t0 a =
  existsb (fun k -> (&&) (Numbers.leb (fst k) t0) (Numbers.ltb t0 (snd k))) a.lives

(** val set_at : instance -> Numbers.t -> clique option **)

let set_at i t0 =
  let members = filter (is_alive t0) i.solid in
  if (&&) i.rel.ties (negb (all_meet i members)) then None else Some (clique_of i members)

(** val set_of : instance -> Numbers.t list -> clique option **)

let set_of i numbers =
  let named0 = fold_left (fun m i0 -> M.add i0 () m) numbers M.empty in
  let members = filter (fun a -> M.mem a.id named0) i.solid in
  if all_meet i members then Some (clique_of i members) else None

(** val override : state -> Numbers.t -> lows -> state **)

let override low b l i =
  if Numbers.eqb i b then Some l else low i

(** val only : nat -> Numbers.t option -> lows -> lows **)

let only q v l =
  put q v (map (fun _ -> None) l)

(** val near :
    instance -> item -> nat -> lows M.t -> (((Numbers.t * Numbers.t option list) * Numbers.t) * item) list **)

let near i a q m =
  flat_map (fun e ->
    match nth_error (snd e) q with
    | Some y ->
      (match y with
       | Some l ->
         (match M.find (fst e) i.index with
          | Some c -> if meets i.rel a c then ((((fst e), (snd e)), l), c) :: [] else []
          | None -> [])
       | None -> [])
    | None -> []) (M.elements m)

(** val raise :
    Numbers.t list -> item -> nat -> Numbers.t -> lows M.t -> (((Numbers.t * lows) * Numbers.t) * item) -> lows
    PositiveMap.t **)

let raise ends a q at_ m = function
| (p, c) ->
  let (p0, v) = p in
  let (j, l) = p0 in
  M.add j
    (put q (match legal ends c q (Numbers.add at_ a.bytes) with
            | Some w -> Some (Numbers.max v w)
            | None -> None) l) m

(** val least_end : (((Numbers.t * lows) * Numbers.t) * item) list -> Numbers.t option **)

let least_end es =
  fold_right (fun e least0 ->
    let (y, c) = e in
    let (_, v) = y in
    (match least0 with
     | Some w -> Some (Numbers.min w (Numbers.add v c.bytes))
     | None -> Some (Numbers.add v c.bytes))) None es

(** val rests_or_lifts :
    instance -> Numbers.t list -> known -> Numbers.t -> reference -> reference -> lows M.t -> bool **)

let rests_or_lifts i ends k b rests lifts m =
  match M.find b i.index with
  | Some a ->
    (match M.find b m with
     | Some l ->
       (match filter (fun e -> match snd e with
                               | Some _ -> true
                               | None -> false) (numbered l) with
        | [] -> false
        | p :: l0 ->
          let (q, o) = p in
          (match o with
           | Some at_ ->
             (match l0 with
              | [] ->
                let es = near i a q m in
                let lifted = match least_end es with
                             | Some w -> legal ends a q (Numbers.max at_ w)
                             | None -> None in
                (&&)
                  (let resting = fold_left (raise ends a q at_) es (M.remove b m) in
                   refuted ends k (fun i0 -> M.find i0 resting) rests (map (fun e -> fst (fst (fst e))) es))
                  (refuted ends k (override (fun i0 -> M.find i0 m) b (put q lifted l)) lifts (b :: []))
              | _ :: _ -> false)
           | None -> false))
     | None -> false)
  | None -> false

(** val is_nowhere : Numbers.t list -> known -> Numbers.t -> reference list -> lows M.t -> bool **)

let is_nowhere ends k b refs m =
  match M.find b m with
  | Some l ->
    forallb (fun e ->
      match snd e with
      | Some v ->
        (match nth_error refs (fst e) with
         | Some ref -> refuted ends k (override (fun i -> M.find i m) b (only (fst e) (Some v) l)) ref (b :: [])
         | None -> false)
      | None -> true) (numbered l)
  | None -> false

(** val read_state : instance -> Numbers.t list -> (Numbers.t * lows) list -> lows M.t option **)

let read_state i ends st =
  if forallb (fun e -> (&&) (M.mem (fst e) i.index) (Nat.eqb (length (snd e)) (length ends))) st
  then Some (fold_left (fun m e -> M.add (fst e) (snd e) m) st M.empty)
  else None

(** val part_prices : problem -> kind -> Numbers.t -> Numbers.t list option **)

let part_prices p by_ d =
  if forallb (fun c -> Numbers.eqb (Numbers.modulo (Numbers.mul c d) p.parts) Numbers.zero) (prices p by_)
  then Some (map (fun c -> Numbers.div (Numbers.mul c d) p.parts) (prices p by_))
  else None

(** val moved : (row * Numbers.t) list -> Numbers.t **)

let moved ps =
  total (fun rd -> if Numbers.ltb Numbers.zero (fst rd).size then (fst rd).traffic else Numbers.zero) ps

(** val traffic_of : instance -> item -> Numbers.t **)

let traffic_of i a =
  moved (parts_of i.part_lists a.id)

(** val price_of : instance -> Numbers.t list -> item -> nat -> Numbers.t **)

let price_of i ws a q =
  Numbers.mul (traffic_of i a) (nth q ws Numbers.zero)

(** val charges_of : Numbers.t list M.t -> Numbers.t -> Numbers.t list **)

let charges_of m i =
  match M.find i m with
  | Some l -> l
  | None -> []

(** val plus : nat -> Numbers.t -> Numbers.t list -> Numbers.t list **)

let rec plus q v = function
| [] -> []
| h :: t0 -> (match q with
              | O -> (Numbers.add h v) :: t0
              | S q0 -> h :: (plus q0 v t0))

(** val charge : nat -> Numbers.t -> Numbers.t list M.t -> item -> Numbers.t list PositiveMap.t **)

let charge q w m a =
  M.add a.id (plus q (Numbers.mul w a.bytes) (charges_of m a.id)) m

(** val charge_all :
    Numbers.t list -> known -> ((Numbers.t * nat) * Numbers.t) list -> Numbers.t list M.t -> (Numbers.t list
    M.t * Numbers.t) option **)

let rec charge_all ends k rows0 m =
  match rows0 with
  | [] -> Some (m, Numbers.zero)
  | y :: t0 ->
    let (y0, w) = y in
    let (k0, q) = y0 in
    (match M.find k0 k.sets with
     | Some c ->
       (match charge_all ends k t0 m with
        | Some p0 ->
          let (m0, worth) = p0 in
          if Numbers.leb Numbers.zero w
          then Some ((fold_left (charge q w) c.free m0),
                 (Numbers.add worth (Numbers.mul w (room_in ends Numbers.one c q))))
          else None
        | None -> None)
     | None -> None)

(** val homes_of : lows -> nat list **)

let homes_of l =
  flat_map (fun e -> match snd e with
                     | Some _ -> (fst e) :: []
                     | None -> []) (numbered l)

(** val least : Numbers.t list -> Numbers.t **)

let least = function
| [] -> Numbers.zero
| a :: t0 -> fold_right Numbers.min a t0

(** val is_dear :
    Numbers.t -> Numbers.t -> Numbers.t -> ((item * nat list) * Numbers.t list) list -> Numbers.t -> Numbers.t -> state
    -> bool **)

let is_dear k scale worth table base0 step0 low =
  let rows0 =
    map (fun e ->
      let (y, charges) = e in
      let (a, homes0) = y in
      (match low a.id with
       | Some l -> map (fun q -> nth q charges Numbers.zero) (homes_of l)
       | None -> map (fun q -> nth q charges Numbers.zero) homes0)) table
  in
  (||) (existsb (fun r -> match r with
                          | [] -> true
                          | _ :: _ -> false) rows0)
    (let bound = Numbers.opp (Numbers.div (Numbers.sub worth (total least rows0)) scale) in
     if Numbers.eqb step0 Numbers.zero
     then Numbers.leb k base0
     else Numbers.leb k (Numbers.add bound (Numbers.modulo (Numbers.sub base0 bound) step0)))

(** val base_of : instance -> Numbers.t list -> (item * nat list) list -> Numbers.t **)

let base_of i ws table =
  total (fun e -> match snd e with
                  | [] -> Numbers.zero
                  | q :: _ -> price_of i ws (fst e) q) table

(** val differences : instance -> Numbers.t list -> (item * nat list) list -> Numbers.t list **)

let differences i ws table =
  flat_map (fun e ->
    match snd e with
    | [] -> []
    | o :: t0 -> map (fun q -> Numbers.sub (price_of i ws (fst e) q) (price_of i ws (fst e) o)) t0) table

(** val value :
    problem -> instance -> Numbers.t list -> kind -> Numbers.t -> Numbers.t -> known -> Numbers.t ->
    ((Numbers.t * nat) * Numbers.t) list -> (state -> bool) option **)

let value p i ends by_ d k k0 scale rows0 =
  match part_prices p by_ d with
  | Some ws ->
    let firsts = map (fun a -> (a, (homes_of (first ends a)))) i.solid in
    let step0 = fold_right Numbers.gcd Numbers.zero (differences i ws firsts) in
    let prices0 =
      fold_left (fun m a ->
        let t0 = traffic_of i a in M.add a.id (map (fun c -> Numbers.mul scale (Numbers.mul t0 c)) ws) m) i.solid
        M.empty
    in
    (match charge_all ends k0 rows0 prices0 with
     | Some p0 ->
       let (m, worth) = p0 in
       if (&&)
            ((&&)
              ((&&)
                ((&&)
                  ((&&)
                    ((&&) ((&&) (Numbers.ltb Numbers.zero scale) (Numbers.ltb Numbers.zero d))
                      (Numbers.ltb Numbers.zero p.parts)) (Numbers.leb Numbers.zero step0))
                  (forallb (fun v ->
                    if Numbers.eqb step0 Numbers.zero
                    then Numbers.eqb v Numbers.zero
                    else Numbers.eqb (Numbers.modulo v step0) Numbers.zero) (differences i ws firsts)))
                (forallb (fun r -> Numbers.leb Numbers.zero r.traffic) p.rows))
              (forallb (fun c -> Numbers.leb Numbers.zero c) ws)) (Nat.eqb (length ws) (length ends))
       then let table = map (fun e -> (((fst e), (snd e)), (charges_of m (fst e).id))) firsts in
            Some (is_dear k scale worth table (base_of i ws firsts) step0)
       else None
     | None -> None)
  | None -> None

type line =
| Time_set of Numbers.t
| List_set of Numbers.t list
| Worth of Numbers.t * ((Numbers.t * nat) * Numbers.t) list
| Rest_lemma of Numbers.t * reference * reference * (Numbers.t * lows) list
| Pool_lemma of Numbers.t * reference list * (Numbers.t * lows) list

type part = { claimed : Numbers.t list; lines : line list; closing : reference; nowhere : Numbers.t option }

type certificate = { sizes : Numbers.t option list; says : claim; proofs : part list }

(** val add_set : known -> clique -> known **)

let add_set k s =
  { sets = (M.add k.set_count s k.sets); lemmas = k.lemmas; worths = k.worths; set_count =
    (Numbers.add k.set_count Numbers.one); lemma_count = k.lemma_count; worth_count = k.worth_count }

(** val add_lemma : known -> lows M.t -> known **)

let add_lemma k m =
  { sets = k.sets; lemmas = (M.add k.lemma_count (M.elements m) k.lemmas); worths = k.worths; set_count = k.set_count;
    lemma_count = (Numbers.add k.lemma_count Numbers.one); worth_count = k.worth_count }

(** val add_worth : known -> (state -> bool) -> known **)

let add_worth k f =
  { sets = k.sets; lemmas = k.lemmas; worths = (M.add k.worth_count f k.worths); set_count = k.set_count; lemma_count =
    k.lemma_count; worth_count = (Numbers.add k.worth_count Numbers.one) }

(** val take :
    instance -> Numbers.t list -> (known -> Numbers.t -> ((Numbers.t * nat) * Numbers.t) list -> (state -> bool)
    option) -> known -> line -> known option **)

let take i ends value0 k = function
| Time_set t0 -> (match set_at i t0 with
                  | Some c -> Some (add_set k c)
                  | None -> None)
| List_set ns -> (match set_of i ns with
                  | Some c -> Some (add_set k c)
                  | None -> None)
| Worth (scale, rows0) -> (match value0 k scale rows0 with
                           | Some f -> Some (add_worth k f)
                           | None -> None)
| Rest_lemma (b, rests, lifts, st) ->
  (match read_state i ends st with
   | Some m -> if rests_or_lifts i ends k b rests lifts m then Some (add_lemma k m) else None
   | None -> None)
| Pool_lemma (b, refs, st) ->
  (match read_state i ends st with
   | Some m -> if is_nowhere ends k b refs m then Some (add_lemma k m) else None
   | None -> None)

(** val take_all :
    instance -> Numbers.t list -> (known -> Numbers.t -> ((Numbers.t * nat) * Numbers.t) list -> (state -> bool)
    option) -> known -> line list -> known option **)

let rec take_all i ends value0 k = function
| [] -> Some k
| l :: t0 -> (match take i ends value0 k l with
              | Some more -> take_all i ends value0 more t0
              | None -> None)

(** val is_proof :
    instance -> Numbers.t list -> (known -> Numbers.t -> ((Numbers.t * nat) * Numbers.t) list -> (state -> bool)
    option) -> part -> bool **)

let is_proof i ends value0 p =
  match take_all i ends value0 nothing_known p.lines with
  | Some k -> refuted ends k (at_first i ends) p.closing (match p.nowhere with
                                                          | Some i0 -> i0 :: []
                                                          | None -> [])
  | None -> false

(** val same_list : Numbers.t list -> Numbers.t list -> bool **)

let rec same_list k l =
  match k with
  | [] -> (match l with
           | [] -> true
           | _ :: _ -> false)
  | a :: k0 -> (match l with
                | [] -> false
                | b :: l0 -> (&&) (Numbers.eqb a b) (same_list k0 l0))

(** val are_proofs :
    instance -> (Numbers.t list -> Numbers.t option -> known -> Numbers.t -> ((Numbers.t * nat) * Numbers.t) list ->
    (state -> bool) option) -> (Numbers.t list * Numbers.t option) list -> part list -> bool **)

let rec are_proofs i value0 expected parts0 =
  match expected with
  | [] -> (match parts0 with
           | [] -> true
           | _ :: _ -> false)
  | e :: es ->
    (match parts0 with
     | [] -> false
     | p :: ps ->
       (&&) ((&&) (same_list (fst e) p.claimed) (is_proof i (fst e) (value0 (fst e) (snd e)) p))
         (are_proofs i value0 es ps))

(** val same_sizes : Numbers.t option list -> Numbers.t option list -> bool **)

let rec same_sizes k l =
  match k with
  | [] -> (match l with
           | [] -> true
           | _ :: _ -> false)
  | o :: k0 ->
    (match o with
     | Some a ->
       (match l with
        | [] -> false
        | o0 :: l0 -> (match o0 with
                       | Some b -> (&&) (Numbers.eqb a b) (same_sizes k0 l0)
                       | None -> false))
     | None -> (match l with
                | [] -> false
                | o0 :: l0 -> (match o0 with
                               | Some _ -> false
                               | None -> same_sizes k0 l0)))

(** val value_of :
    problem -> instance -> claim -> Numbers.t list -> Numbers.t option -> known -> Numbers.t ->
    ((Numbers.t * nat) * Numbers.t) list -> (state -> bool) option **)

let value_of p inst c ends least0 =
  match c with
  | Costs (by_, _, d, _) -> (match least0 with
                             | Some k -> value p inst ends by_ d k
                             | None -> (fun _ _ _ -> None))
  | _ -> (fun _ _ _ -> None)

(** val check : problem -> certificate -> bool **)

let check p c =
  match compile p with
  | Some inst ->
    (&&)
      ((&&) (same_sizes (map (fun p0 -> p0.capacity) p.pools) c.sizes)
        (match c.says with
         | Infeasible -> true
         | Used tops -> Nat.eqb (length tops) (length p.pools)
         | Costs (_, _, _, tops) -> Nat.eqb (length tops) (length p.pools)))
      (are_proofs inst (value_of p inst c.says) (claims p c.says) c.proofs)
  | None -> false
