(* The lines of a certificate. What is read here need not be right: of any lines, what they prove is so. *)
open Text
let tail s = String.sub s 1 (String.length s - 1)
let reference n w = match w.[0], List.map (number (two 63)) (String.split_on_char ':' (tail w)) with
  | '@', [k] -> Proved.By_set (k, Z.one, Z.zero, Z.one)
  | '@', [k; g; r; m] when Z.sign g > 0 && Z.sign m > 0 && Z.lt m (two n) -> Proved.By_set (k, g, r, m)
  | '$', [k] -> Proved.By_worth k
  | _ | exception (Wrong _ | Invalid_argument _) -> try Proved.By_lemma (number (two 63) w) with Wrong _ ->
    Proved.By_nothing
let rec split k l = match k, l with
  | 0, l -> ([], l) | k, a :: t -> let b, c = split (k - 1) t in (a :: b, c) | _, [] -> wrong "a line that ends early"
let line n count l =
  let nth = number (Z.of_int count) and word = number (two 63) and worth = number (two 127) in
  let row w = match String.split_on_char ':' w with
    | [i; lows] -> (nth i, List.map size_of (String.split_on_char ',' lows)) | _ -> wrong "a wrong state" in
  let state l = let rows = List.map row l in ignore (table (List.map fst rows)); rows in
  let weight w = match List.map worth (String.split_on_char ':' w) with
    | [k; q; v] when Z.lt q (Z.of_int n) -> ((k, nats.(Z.to_int q)), v) | _ -> wrong "a wrong worth" in
  match l with
  | ["set"; "time"; t] -> Proved.Time_set (if t <> "" && t.[0] = '-' then Z.neg (word (tail t)) else word t)
  | "set" :: "of" :: l -> Proved.List_set (List.map nth l)
  | "worth" :: scale :: l -> Proved.Worth (worth scale, List.map weight l)
  | "l" :: b :: r :: s :: l -> Proved.Rest_lemma (word b, reference n r, reference n s, state l)
  | "s" :: b :: l -> let refs, l = split n l in Proved.Pool_lemma (word b, List.map (reference n) refs, state l)
  | _ -> wrong "a line that is none of a certificate"
let rec parts n count = function
  | [] -> []
  | ("claim" :: ends) :: l ->
      let rec go lines = function
        | ["end"; w] :: l -> let nowhere = if w <> "" && w.[0] = '!' then Some (number (two 63) (tail w)) else None in
            { Proved.claimed = List.map (number (two 63)) ends; lines = List.rev lines; nowhere;
              closing = if nowhere = None then reference n w else Proved.By_nothing } :: parts n count l
        | w :: l -> go (line n count w :: lines) l
        | [] -> wrong "a certificate that ends early" in
      go [] l
  | _ -> wrong "a claim was expected"
