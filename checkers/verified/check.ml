(* Reads a problem and a certificate, as docs/certificates.md says, for the checker that is proved, Proved.check:
   check [--inclusive|--half-open] PROBLEM CERTIFICATE [SIZE[@ADDRESS]|- ...]; status 0 proved, 3 refused, 2 wrong. *)
type json = Null | Bool | Int of Z.t | Decimal of Q.t | Str of string | List of json list | Obj of (string * json) list
exception Wrong of string
let wrong rule = raise (Wrong rule)
let need is_so rule = if not is_so then wrong rule
let two n = Z.shift_left Z.one n
let tail s = String.sub s 1 (String.length s - 1)
let is_all pattern s = Str.string_match pattern s 0 && Str.match_end () = String.length s
let digits = "\\(0\\|[1-9][0-9]*\\)"
let natural = Str.regexp digits and whole = Str.regexp ("-?" ^ digits)
let decimal = Str.regexp "[0-9][^eE]*\\([eE][-+]?[0-9][0-9]?[0-9]?\\)?"
let spaces = Str.regexp "[ \t\r\n]*" and printed = Str.regexp "[^\"\000-\031\127]*" and mark = Str.regexp "\xef\xbb\xbf"
let number limit s = let n = if is_all natural s then Z.of_string s else limit in need (Z.lt n limit) "a wrong number";
  n
let nats = Array.init 64 (fun k -> let rec nat k = if k = 0 then Proved.O else Proved.S (nat (k - 1)) in nat k)
let table l = let t = Hashtbl.create 64 in
  List.iteri (fun k v -> need (not (Hashtbl.mem t v)) "an id or a name twice"; Hashtbl.add t v k) l; t
let find t v = match Hashtbl.find_opt t v with Some k -> k | None -> wrong "an id or a name of nothing"

(* JSON *)
let more = "[\128-\191]"
let utf8 = Str.regexp (String.concat "\\|" ["[\001-\127]+"; "[\194-\223]" ^ more; "\224[\160-\191]" ^ more;
  "[\225-\236\238\239]" ^ more ^ more; "\237[\128-\159]" ^ more; "\240[\144-\191]" ^ more ^ more;
  "[\241-\243]" ^ more ^ more ^ more; "\244[\128-\143]" ^ more ^ more])
let rec check_utf8 s i = if i < String.length s then begin
  need (Str.string_match utf8 s i) "a text that is not UTF-8"; check_utf8 s (Str.match_end ()) end
let hex = "[0-9a-fA-F]"
let escape = "\\\\u" ^ hex ^ hex ^ hex ^ hex
let token = Str.regexp ("[ \t\r\n]*\\(\"\\([^\"\\\\\000-\031]\\|\\\\[\"\\\\/bfnrt]\\|" ^ escape ^ "\\)*\"\\|-?" ^
  digits ^
  "\\(\\.[0-9]+\\)?\\([eE][-+]?[0-9]+\\)?\\|[][{}:,]\\|true\\|false\\|null\\)")
let rec tokens s i l = if Str.string_match token s i then
    let after = Str.match_end () in tokens s after (Str.matched_group 1 s :: l)
  else (need (is_all spaces (String.sub s i (String.length s - i))) "not JSON"; List.rev l)
let escapes = Str.regexp ("\\\\u[dD][89abAB]" ^ hex ^ hex ^ "\\\\u[dD][c-fC-F]" ^ hex ^ hex ^ "\\|" ^ escape ^
  "\\|\\\\.")
let unescape s =
  let e = Str.matched_string s and b = Buffer.create 4 in
  let code k = int_of_string ("0x" ^ String.sub e k 4) in
  if e.[1] <> 'u' then List.assoc e.[1] ['b', "\b"; 'f', "\012"; 'n', "\n"; 'r', "\r"; 't', "\t"; '"', "\""; '\\',
    "\\"; '/', "/"]
  else let c = if String.length e = 6 then code 2 else 0x10000 + ((code 2 - 0xd800) lsl 10) + code 8 - 0xdc00 in
    need (Uchar.is_valid c) "a surrogate alone"; Buffer.add_utf_8_uchar b (Uchar.of_int c); Buffer.contents b
let decode w = Str.global_substitute escapes unescape (String.sub w 1 (String.length w - 2))
let rec value = function
  | "[" :: "]" :: t -> (List [], t)
  | "{" :: "}" :: t -> (Obj [], t)
  | "[" :: t -> items [] t
  | "{" :: t -> members [] t
  | ("true" | "false") :: t -> (Bool, t)
  | "null" :: t -> (Null, t)
  | w :: t when w.[0] = '"' -> (Str (decode w), t)
  | w :: t when is_all whole w -> need (w <> "-0" && String.length w <= 40) "a wrong number"; (Int (Z.of_string w), t)
  | w :: t when is_all decimal w && String.length w <= 40 -> (Decimal (Q.of_string w), t)
  | _ -> wrong "not JSON"
and items l t = match value t with
  | v, "," :: t -> items (v :: l) t | v, "]" :: t -> (List (List.rev (v :: l)), t) | _ -> wrong "not JSON"
and members l = function
  | w :: ":" :: t when w.[0] = '"' -> let key = decode w in
      need (not (List.mem_assoc key l)) "a key twice";
      (match value t with
       | v, "," :: t -> members ((key, v) :: l) t | v, "}" :: t -> (Obj ((key, v) :: l), t) | _ -> wrong "not JSON")
  | _ -> wrong "not JSON"

(* Fields: a letter a kind of value, ? where it may be null. *)
let spec text = List.map (fun w -> Scanf.sscanf w "%[^=]=%s" (fun name kind -> (name, kind))) (String.split_on_char ' '
  text)
let problem_fields = spec
  "format=w? name=S? interval=w buffers=l conflicts=P may_share=P bank=l together=l pools=l? objective=w"
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
  | Obj l ->
      List.iter (fun (name, v) -> match List.assoc_opt name spec with
        | Some kind -> need (is_right name kind.[0] v || (v = Null && String.length kind > 1)) ("a wrong value of " ^
          name)
        | None -> wrong ("a field that is not known: " ^ name)) l;
      let l = List.filter (fun (_, v) -> v <> Null) l in
      List.iter (fun name -> need (List.mem_assoc name l) ("a field is missing: " ^ name)) required; l
  | _ -> wrong "an object was expected"
let get l name = List.assoc_opt name l
let list l name = match get l name with Some (List l) -> l | _ -> []
let int l name = match get l name with Some (Int n) -> Some n | _ -> None
let int_or l name other = Option.value (int l name) ~default:other
let ints = function List [Int a; Int b] -> (a, b) | _ -> wrong "a pair was expected"

let row_of index pools closed number l =
  let has name = List.mem_assoc name l and buffer v = Z.of_int (find index v) in
  need (has "start" = has "end" && not (has "start" && has "lifetimes")) "half a lifetime, or two";
  need (not (has "alias_of" && (has "relative" || has "no_cross")) && (has "alias_of" || not (has "alias_offset")))
    "a wrong alias";
  let rest v = let f = fields (spec "modulus=a remainder=b") ["modulus"; "remainder"] v in
    let m, r = int_or f "modulus" Z.one, int_or f "remainder" Z.zero in need (Z.lt r m) "a wrong remainder"; (m, r) in
  let tie v = buffer (List.assoc "to" (fields (spec "to=i offset=d") ["to"; "offset"] v)) in
  let among name = List.map (find pools) (list l name) in
  let barred = among "forbid_pools" and all = List.of_seq (Hashtbl.to_seq_values pools) in
  let homes = List.filter (fun q -> not (List.mem q barred))
    (List.sort_uniq compare (if has "pools" then among "pools" else all)) in
  need (homes <> [] && (List.length homes = 1 || not (has "offset"))) "no pool left, or a pin without its pool";
  let life (a, b) = let b = if closed then Z.succ b else b in
    need (Z.lt a b && Z.lt b (two 63)) "a lifetime that ends before it starts"; (a, b) in
  let lives = if has "start" then [(int_or l "start" Z.zero, int_or l "end" Z.zero)] else List.map ints (list l
    "lifetimes") in
  let size = int_or l "size" Z.zero in
  { Proved.number = number; size; lifetimes = List.map life lives; alignment = int_or l "alignment" Z.one;
    offset_mod = Option.map rest (get l "offset_mod"); no_cross = int l "no_cross"; pinned = int l "offset";
    homes = List.map (Array.get nats) homes; relative_to = Option.map tie (get l "relative"); traffic = int_or l
      "traffic" size;
    alias_of = Option.map (fun v -> (buffer v, int_or l "alias_offset" Z.zero)) (get l "alias_of") }

let problem_of data closed =
  let pools = match list data "pools" with [] -> [[]] | l -> List.map (fields pool_fields []) l in
  let rows = List.map (fields row_fields ["id"; "size"]) (list data "buffers") in
  let index = table (List.map (List.assoc "id") rows) in
  let names = table (List.map (fun l -> Option.value (get l "name") ~default:(Str "default")) pools) in
  need (List.length pools < 63) "too many pools";
  let ids = function List l -> List.map (fun v -> Z.of_int (find index v)) l | _ -> wrong "ids were expected" in
  let pairs name = List.map (fun v -> match ids v with [a; b] -> (a, b) | _ -> wrong "a pair was expected") (list data
    name) in
  let use v = List (list (fields (spec "buffers=I weight=c?") ["buffers"] v) "buffers") in
  List.iter (fun v -> need (ids v <> []) "ids were expected") (list data "together" @ List.map use (list data "bank"));
  let rows = List.mapi (fun k -> row_of index names closed (Z.of_int k)) rows in
  let all = Array.of_list rows in
  let count = Array.length all and row k = all.(Z.to_int k) in
  let rec walk left (r : Proved.row) = need (left >= 0) "a circle"; match r.alias_of, r.relative_to with
    | Some (k, _), _ | None, Some k -> walk (left - 1) (row k) | None, None -> () in
  List.iter (fun (r : Proved.row) -> walk count r; match r.alias_of with
    | Some (h, k) -> need (Z.leq (Z.add k r.size) (row h).size) "an alias outside of its buffer" | None -> ()) rows;
  let cost l = match get l "cost" with Some (Decimal q) -> q | _ -> Q.of_bigint (int_or l "cost" Z.zero) in
  let parts = List.fold_left (fun m l -> Z.lcm m (Q.den (cost l))) Z.one pools in
  let pool l = { Proved.capacity = int l "size"; pool_alignment = int_or l "alignment" Z.one;
    base_address = int_or l "base_address" Z.zero; reserved = List.map ints (list l "reserved");
    price = Q.to_bigint (Q.mul (cost l) (Q.of_bigint parts)) } in
  { Proved.rows = rows; pools = List.map pool pools; conflicts = pairs "conflicts"; may_share = pairs "may_share";
    parts }

(* A table, as an object of JSON. *)
let columns = ["id", "id"; "size", "size"; "lower", "start"; "start", "start"; "upper", "end"; "end", "end";
  "alignment", "alignment"; "offset", "offset"]
let trim = Str.global_replace (Str.regexp "^ +\\| +$") ""
let of_table sizes text =
  let rows = List.filter (fun s -> trim s <> "") (Str.split_delim (Str.regexp "\r?\n") text) in
  need (List.for_all (is_all printed) rows) "quotes or control characters in a table";
  let rows = List.map (String.split_on_char ',') rows in
  let head = match rows with h :: _ -> List.map trim h | [] -> wrong "an empty table" in
  let names = List.map (fun c -> try List.assoc c columns with Not_found -> wrong "a column that is not known") head in
  ignore (table names);
  let cell name c = match name, trim c with
    | "id", _ -> (name, Str c)
    | ("alignment" | "offset"), "" -> (name, Null)
    | _, c -> need (is_all whole c && c <> "-0" && String.length c < 21) "a wrong number"; (name, Int (Z.of_string c))
      in
  let row cells = need (List.length cells = List.length names) "a row of another length";
    let l = List.filter (fun (_, v) -> v <> Null) (List.map2 cell names cells) in
    ignore (fields row_fields ["id"; "size"; "start"; "end"] (Obj l)); Obj l in
  List.iter (fun name -> need (List.mem name names) "a column is missing") ["id"; "size"; "start"; "end"];
  let pool q size = Obj (("name", Str (string_of_int q)) :: match size with Some n -> ["size", Int n] | None -> []) in
  (List.mem "end" head, ["buffers", List (List.map row (List.tl rows)); "pools", List (List.mapi pool sizes)])

(* Certificates *)
let size_of w = if w = "-" then None else Some (number (two 63) w)
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
let kinds = ["cost", Proved.Plain; "speed", Proved.Speed; "balanced", Proved.Balanced]
let claim n = function
  | ["infeasible"] -> Proved.Infeasible
  | "used" :: l -> Proved.Used (List.map (fun w -> Some (number (two 63) w)) l)
  | kind :: k :: d :: l when List.mem_assoc kind kinds ->
      let rec tops = function "-" :: l -> None :: tops l | l -> List.map (fun w -> Some (number (two 63) w)) l in
      let l = if l = [] && kind <> "balanced" then List.init n (fun _ -> None) else tops l in
      need (List.length l = n && (kind <> "balanced" || List.nth l (n - 1) <> None)) "a claim about other pools";
      let d = number (two 127) d in need (Z.sign d > 0) "no parts";
      Proved.Costs (List.assoc kind kinds, number (two 127) k, d, l)
  | _ -> wrong "a claim that is none"

let read name = let f = open_in_bin name in let s = really_input_string f (in_channel_length f) in close_in f; s
let main interval problem certificate given =
  let text = read problem and lines = List.map (String.split_on_char ' ') (String.split_on_char '\n' (read
    certificate)) in
  check_utf8 text 0;
  let start = if is_all mark (String.sub text 0 (min 3 (String.length text))) then 3 else 0 in
  let text = String.sub text start (String.length text - start) in
  let sizes, said, lines = match lines with
    | ["memplan-lemmas/1"] :: ("sizes" :: sizes) :: said :: l -> (List.map size_of sizes, said, List.rev l)
    | _ -> wrong "of another format" in
  let lines = match lines with [""] :: l -> List.rev l | _ -> wrong "a certificate ends with a line" in
  let is_json = Str.string_match (Str.regexp "[ \t\r\n]*{") text 0 in
  let is_end, data = if not is_json then of_table sizes text else match value (tokens text 0 []) with
    | v, [] -> (false, fields problem_fields ["buffers"] v) | _ -> wrong "not JSON" in
  let closed = match get data "interval", interval with
    | Some v, _ -> v = Str "closed" | None, Some s -> s = "--inclusive" | None, None -> is_end in
  need (is_json || sizes <> []) "no pools";
  let p = problem_of data closed in
  let replaced (q : Proved.pool) w = match String.split_on_char '@' w with
    | [s] -> { q with capacity = size_of s } | [s; b] -> { q with capacity = size_of s; base_address = number (two 63)
      b }
    | _ -> wrong "a wrong pool" in
  let p = if given = [] then p else { p with pools = List.map2 replaced p.pools given } in
  let n = List.length p.pools in
  let proofs = parts n (List.length p.rows) lines in
  if Proved.check p { sizes; says = claim n said; proofs } then begin
    Printf.printf "proved: %s, in pools of %s bytes, of %s with %s lifetimes\n" (String.concat " " said)
      (String.concat ", " (List.map (fun (q : Proved.pool) -> Option.fold ~none:"-" ~some:Z.to_string q.capacity)
        p.pools))
      problem (if closed then "closed" else "half-open"); 0 end
  else (print_endline "refused: the certificate does not prove what it claims of this problem"; 3)
let () = exit (try match List.tl (Array.to_list Sys.argv) with
  | ("--inclusive" | "--half-open" as interval) :: p :: c :: l -> main (Some interval) p c l
  | p :: c :: l -> main None p c l
  | _ -> wrong "two files"
  with Wrong why | Failure why | Invalid_argument why | Sys_error why -> print_endline ("wrong input: " ^ why); 2
  | Stack_overflow -> print_endline "wrong input: too large or too deep for the stack (ulimit -s unlimited)"; 2
  | End_of_file | Not_found -> print_endline "wrong input"; 2)
