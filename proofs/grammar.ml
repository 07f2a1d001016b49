(* What is wrong with an input, by docs/certificates.md. This can refuse; nothing that is read depends on it. *)
open Text
let more = "[\128-\191]"
let utf8 = Str.regexp (String.concat "\\|" ["[\001-\127]+"; "[\194-\223]" ^ more; "\224[\160-\191]" ^ more;
  "[\225-\236\238\239]" ^ more ^ more; "\237[\128-\159]" ^ more; "\240[\144-\191]" ^ more ^ more;
  "[\241-\243]" ^ more ^ more ^ more; "\244[\128-\143]" ^ more ^ more])
let check_utf8 s =
  let at = ref 0 in
  while !at < String.length s do
    need (Str.string_match utf8 s !at) "a text that is not UTF-8"; at := Str.match_end ()
  done

(* Fields: a letter a kind of value, ? where it may be null. *)
let spec text = List.map (fun w -> Scanf.sscanf w "%[^=]=%s" (fun name kind -> (name, kind))) (String.split_on_char ' '
  text)
let problem_fields = spec
  ("format=w? name=S? interval=w buffers=l conflicts=P may_share=P bank=l together=l pools=l? objective=w " ^
  "read_with=o?")
let pool_fields = spec "name=s size=z? alignment=a base_address=b cost=c reserved=R bank_size=a? device=i?"
let row_fields = spec
  ("id=i size=b start=t? end=t? lifetimes=T? alignment=a pools=N? offset=b? traffic=b? hint=b? alias_of=i? " ^
  "alias_offset=b? relative=o? no_cross=a? offset_mod=o? forbid_pools=n")
let known = ["format", "memplan/1"; "interval", "half-open"; "interval", "closed"; "objective", "peak"; "objective",
  "fit"; "objective", "cost"]
let ranges = ['i', (Z.neg (two 63), two 63); 't', (Z.neg (two 63), two 63); 'a', (Z.one, Z.succ (two 62)); 'b',
  (Z.zero, Z.succ (two 62));
  'd', (Z.neg (two 62), Z.succ (two 62)); 'z', (Z.zero, two 63); 'c', (Z.zero, Z.succ (Z.pow (Z.of_int 10) 30))]
let rec is_right name kind v = match kind, v with
  | 'w', Str s -> List.mem (name, s) known
  | 'S', Str _ | 'l', List _ | 'o', Obj _ -> true
  | ('s' | 'i'), Str s -> s <> ""
  | _, Int n when List.mem_assoc kind ranges -> let low, high = List.assoc kind ranges in Z.leq low n && Z.lt n high
  | 'c', Decimal q -> Q.leq q (Q.of_bigint (Z.pow (Z.of_int 10) 30))
  | ('n' | 'N' | 'I'), List l -> (l <> [] || kind = 'n') && List.for_all (is_right name (if kind = 'I' then 'i' else
    's')) l
  | ('P' | 'R' | 'T'), List l -> let kind_of = List.assoc kind ['P', 'i'; 'R', 'b'; 'T', 't'] in
      (l <> [] || kind <> 'T') && List.for_all (function List [_; _] as pair -> is_pair name kind_of pair | _ -> false)
        l
  | _ -> false
and is_pair name kind = function List l -> List.for_all (is_right name kind) l | _ -> false
let fields spec required = function
  | Obj l as v ->
      ignore (table (List.map fst l));
      List.iter (fun (name, v) -> match List.assoc_opt name spec with
        | Some kind -> need (is_right name kind.[0] v || (v = Null && String.length kind > 1)) ("a wrong value of " ^
          name)
        | None when name = "reuse" -> wrong "reuse: prices of shared bytes are for check.py, not proved here"
        | None -> wrong ("a field that is not known: " ^ name)) l;
      List.iter (fun name -> need (has v name) ("a field is missing: " ^ name)) required
  | _ -> wrong "an object was expected"

let check_row required r =
  fields row_fields required r;
  need (has r "start" = has r "end" && not (has r "start" && has r "lifetimes")) "half a lifetime, or two";
  need (not (has r "alias_of" && (has r "relative" || has r "no_cross"))) "an alias with rules of its own";
  need (has r "alias_of" || not (has r "alias_offset")) "a distance of no alias";
  Option.iter (fields (spec "modulus=a remainder=b") ["modulus"; "remainder"]) (get r "offset_mod");
  Option.iter (fields (spec "to=i offset=d") ["to"; "offset"]) (get r "relative")
let check_json is_json v =
  fields problem_fields ["buffers"] v;
  List.iter (fields pool_fields []) (list v "pools");
  List.iter (check_row (["id"; "size"] @ if is_json then [] else ["start"; "end"])) (list v "buffers");
  let index = table (List.map (fun r -> get r "id") (list v "buffers")) in
  let use u = fields (spec "buffers=I weight=c?") ["buffers"] u; List (list u "buffers") in
  List.iter (function List (_ :: _ as l) -> List.iter (fun v -> ignore (find index (Some v))) l
    | _ -> wrong "ids were expected") (list v "together" @ List.map use (list v "bank"))

let check_problem (p : Proved.problem) =
  need (List.length p.pools < 63) "too many pools";
  let all = Array.of_list p.rows in
  let rec walk left (r : Proved.row) = need (left >= 0) "a circle"; match r.alias_of, r.relative_to with
    | Some (k, _), _ | None, Some k -> walk (left - 1) all.(Z.to_int k) | None, None -> () in
  Array.iter (fun (r : Proved.row) ->
    walk (Array.length all) r;
    need (r.homes <> [] && (List.length r.homes = 1 || r.pinned = None)) "no pool left, or a pin without its pool";
    List.iter (fun (a, b) -> need (Z.lt a b && Z.lt b (two 63)) "a lifetime that ends before it starts") r.lifetimes;
    Option.iter (fun (m, k) -> need (Z.lt k m) "a wrong remainder") r.offset_mod;
    Option.iter (fun (h, k) -> need (Z.leq (Z.add k r.size) all.(Z.to_int h).size) "an alias outside") r.alias_of) all

let printed = Str.regexp "[^\"\000-\031\127]*"
let check_row_of_table s = need (is_all printed s) "quotes or control characters in a table"
let check_columns names sizes =
  ignore (table names);
  need (sizes <> []) "no pools";
  List.iter (fun name -> need (List.mem name names) "a column is missing") ["id"; "size"; "start"; "end"]
