(* Reads a problem and a certificate for the checker that is proved, Proved.check. docs/certificates.md lists what is read.
   check [--inclusive|--half-open] PROBLEM CERTIFICATE [SIZE[@ADDRESS]|- ...]; exit status: 0 proved, 3 refused, 2 wrong. *)
type json = Null | Bool | Int of Z.t | Decimal of Q.t | Str of string | List of json list | Obj of (string * json) list
exception Wrong of string
let need is_so rule = if not is_so then raise (Wrong rule)
let two n = Z.shift_left Z.one n
let within low high n = Z.leq low n && Z.lt n high

(* Texts *)
let check_utf8 s =
  let n = String.length s in
  let rec go i = if i < n then
    let c = Char.code s.[i] in
    let more = if c < 0x80 then 0 else if c < 0xc2 then 9 else if c < 0xe0 then 1 else if c < 0xf0 then 2 else if c < 0xf5 then 3 else 9 in
    need (i + more < n && c > 0) "a text that is not UTF-8";
    for k = 1 to more do need (Char.code s.[i + k] land 0xc0 = 0x80) "a text that is not UTF-8" done;
    let d = if more > 1 then Char.code s.[i + 1] else 0x90 in
    need (not ((c = 0xe0 && d < 0xa0) || (c = 0xed && d > 0x9f) || (c = 0xf0 && d < 0x90) || (c = 0xf4 && d > 0x8f)))
      "a text that is not UTF-8";
    go (i + more + 1) in
  go 0
let is_digit c = c >= '0' && c <= '9'
let is_number s = s <> "" && String.for_all is_digit s && (s = "0" || s.[0] <> '0') && String.length s < 40
let number limit s = need (is_number s && Z.lt (Z.of_string s) limit) ("a wrong number " ^ s); Z.of_string s

let parse_json s =
  let at = ref 0 in
  let peek () = if !at < String.length s then s.[!at] else '\000' in
  let next () = let c = peek () in incr at; c in
  let rec space () = if String.contains " \t\r\n" (peek ()) then (incr at; space ()) in
  let expect word = String.iter (fun c -> need (next () = c) "not JSON") word in
  let hex () =
    let code = String.init 4 (fun _ -> next ()) in
    need (String.for_all (fun c -> is_digit c || String.contains "abcdefABCDEF" c) code) "a wrong escape";
    int_of_string ("0x" ^ code) in
  let text () =
    let b = Buffer.create 16 in
    let rec go () = match next () with
      | '"' -> Buffer.contents b
      | '\\' ->
          (match next () with
           | 'u' ->
               let c = hex () in
               let c = if c land 0xfc00 <> 0xd800 then c else (expect "\\u"; let d = hex () in
                 need (d land 0xfc00 = 0xdc00) "a surrogate alone"; 0x10000 + ((c - 0xd800) lsl 10) + d - 0xdc00) in
               need (Uchar.is_valid c) "a surrogate alone"; Buffer.add_utf_8_uchar b (Uchar.of_int c)
           | 'b' -> Buffer.add_char b '\b' | 'f' -> Buffer.add_char b '\012' | 'n' -> Buffer.add_char b '\n'
           | 'r' -> Buffer.add_char b '\r' | 't' -> Buffer.add_char b '\t'
           | c -> need (String.contains "\"\\/" c) "a wrong escape"; Buffer.add_char b c);
          go ()
      | c -> need (c >= ' ') "a control character"; Buffer.add_char b c; go () in
    go () in
  let numeral () =
    let from = !at in
    let digits () = let k = !at in while is_digit (peek ()) do incr at done; String.sub s k (!at - k) in
    if peek () = '-' then incr at;
    let whole = digits () in
    need (is_number whole) "a wrong number";
    let is_whole = !at in
    let part = if peek () = '.' then (incr at; let d = digits () in need (d <> "") "a wrong number"; d) else "" in
    let power = if peek () <> 'e' && peek () <> 'E' then 0 else begin
      incr at; let sign = if peek () = '-' then -1 else 1 in
      if peek () = '-' || peek () = '+' then incr at;
      let d = digits () in need (d <> "" && String.length d < 4) "a wrong number"; sign * int_of_string d end in
    let word = String.sub s from (!at - from) in
    need (String.length word <= 40) "a wrong number";
    if !at = is_whole then (need (word <> "-0") "a wrong number"; Int (Z.of_string word))
    else begin
      need (word.[0] <> '-') "a wrong number";
      let n = Z.of_string (whole ^ part) and p = power - String.length part and ten = Z.of_int 10 in
      Decimal (if p < 0 then Q.make n (Z.pow ten (-p)) else Q.of_bigint (Z.mul n (Z.pow ten p)))
    end in
  let rec value () =
    space ();
    let found = match peek () with
      | '{' -> let seen = Hashtbl.create 8 in
          Obj (items '}' (fun () -> space (); expect "\""; let key = text () in
            need (not (Hashtbl.mem seen key)) "a key twice"; Hashtbl.add seen key ();
            space (); expect ":"; (key, value ())))
      | '[' -> List (items ']' value)
      | '"' -> incr at; Str (text ())
      | 't' -> expect "true"; Bool | 'f' -> expect "false"; Bool | 'n' -> expect "null"; Null
      | _ -> numeral () in
    space (); found
  and items : 'a. char -> (unit -> 'a) -> 'a list = fun close item ->
    incr at; space ();
    if peek () = close then (incr at; [])
    else let rec go l = let l = item () :: l in
      match next () with ',' -> go l | c -> need (c = close) "not JSON"; List.rev l in go [] in
  let found = value () in
  need (!at = String.length s) "not JSON"; found

(* Problems *)
let words = String.split_on_char ' '
let spec text = List.map (fun w -> let k = String.index w '=' in
  (String.sub w 0 k, String.sub w (k + 1) (String.length w - k - 1))) (words text)
let problem_fields = spec "format=w? name=S? interval=w buffers=l conflicts=P may_share=P bank=l together=l pools=l? objective=w"
let pool_fields = spec "name=s size=z? alignment=a base_address=b cost=c reserved=R bank_size=a?"
let row_fields = spec "id=i size=b start=t? end=t? lifetimes=T? alignment=a pools=N? offset=b? traffic=b? hint=b? \
alias_of=i? alias_offset=b? relative=o? no_cross=a? offset_mod=o? forbid_pools=n"
let said = ["format", "memplan/1"; "interval", "half-open"; "interval", "closed"; "objective", "peak"; "objective", "fit"; "objective", "cost"]
let most = Z.succ (two 62)
let rec is_right name kind v = match kind, v with
  | 'w', Str s -> List.mem (name, s) said
  | 'S', Str _ | 'l', List _ | 'o', Obj _ -> true
  | ('s' | 'i'), Str s -> s <> ""
  | ('i' | 't'), Int n -> within (Z.neg (two 63)) (two 63) n
  | 'a', Int n -> within Z.one most n
  | 'b', Int n -> within Z.zero most n
  | 'd', Int n -> within (Z.neg (two 62)) most n
  | 'z', Int n -> within Z.zero (two 63) n
  | 'c', Int n -> within Z.zero (Z.succ (Z.pow (Z.of_int 10) 30)) n
  | 'c', Decimal q -> Q.leq q (Q.of_bigint (Z.pow (Z.of_int 10) 30))
  | 'n', List l -> List.for_all (is_right name 's') l
  | 'N', List l -> l <> [] && List.for_all (is_right name 's') l
  | 'I', List l -> l <> [] && List.for_all (is_right name 'i') l
  | ('P' | 'R' | 'T'), List l -> (l <> [] || kind <> 'T') && List.for_all (function
      | List [a; b] -> let k = List.assoc kind ['P', 'i'; 'R', 'b'; 'T', 't'] in is_right name k a && is_right name k b
      | _ -> false) l
  | _ -> false
let fields spec required = function
  | Obj l ->
      List.iter (fun (name, v) ->
        let kind = try List.assoc name spec with Not_found -> raise (Wrong ("a field that is not known: " ^ name)) in
        need (is_right name kind.[0] v || (v = Null && String.length kind > 1)) ("a wrong value of " ^ name)) l;
      let l = List.filter (fun (_, v) -> v <> Null) l in
      List.iter (fun name -> need (List.mem_assoc name l) ("a field is missing: " ^ name)) required; l
  | _ -> raise (Wrong "an object was expected")
let get l name = List.assoc_opt name l
let list l name = match get l name with Some (List l) -> l | _ -> []
let int l name = match get l name with Some (Int n) -> Some n | _ -> None
let int_or l name other = Option.value (int l name) ~default:other
let pair = function List [a; b] -> (a, b) | _ -> raise (Wrong "a pair was expected")
let ints v = match pair v with Int a, Int b -> (a, b) | _ -> raise (Wrong "a pair was expected")
let life closed (a, b) =
  let b = if closed then Z.succ b else b in
  need (Z.lt a b && Z.lt b (two 63)) "a lifetime that ends before it starts"; (a, b)
let nats = let rec go k n = if k = 0 then [] else n :: go (k - 1) (Proved.S n) in Array.of_list (go 64 Proved.O)
let numbered l = List.mapi (fun k v -> (v, k)) l
let table pairs = let t = Hashtbl.create 64 in
  List.iter (fun (v, k) -> need (not (Hashtbl.mem t v)) "an id or a name twice"; Hashtbl.add t v k) pairs; t
let find t v = try Hashtbl.find t v with Not_found -> raise (Wrong "an id or a name of nothing")

let row_of index pool_index closed number l =
  let id name = Option.map (fun v -> Z.of_int (find index v)) (get l name) in
  let has name = get l name <> None in
  need (has "start" = has "end" && not (has "start" && has "lifetimes")) "half a lifetime, or two";
  need (not (has "alias_of" && (has "relative" || has "no_cross")) && (has "alias_of" || not (has "alias_offset"))) "a wrong alias";
  let offset_mod = Option.map (fun v -> let f = fields (spec "modulus=a remainder=b") ["modulus"; "remainder"] v in
    let m = int_or f "modulus" Z.zero and r = int_or f "remainder" Z.zero in need (Z.lt r m) "a remainder that is none"; (m, r)) (get l "offset_mod") in
  let tie = Option.map (fun v -> let f = fields (spec "to=i offset=d") ["to"; "offset"] v in
    Z.of_int (find index (List.assoc "to" f))) (get l "relative") in
  let among name = List.map (find pool_index) (list l name) in
  let barred = among "forbid_pools" and asked = if has "pools" then among "pools" else List.of_seq (Hashtbl.to_seq_values pool_index) in
  let homes = List.filter (fun q -> not (List.mem q barred)) (List.sort_uniq compare asked) in
  need (homes <> [] && (List.length homes = 1 || not (has "offset"))) "no pool left, or a pin without its pool";
  let size = int_or l "size" Z.zero in
  let lives = match int l "start", int l "end" with Some a, Some b -> [(a, b)] | _ -> List.map ints (list l "lifetimes") in
  { Proved.number; size; lifetimes = List.map (life closed) lives; alignment = int_or l "alignment" Z.one; offset_mod;
    no_cross = int l "no_cross"; pinned = int l "offset"; homes = List.map (Array.get nats) homes;
    alias_of = Option.map (fun h -> (h, int_or l "alias_offset" Z.zero)) (id "alias_of"); relative_to = tie;
    traffic = int_or l "traffic" size }

let problem_of_json interval text =
  let data = fields problem_fields ["buffers"] (parse_json text) in
  let pools = match list data "pools" with [] -> [[]] | l -> List.map (fields pool_fields []) l in
  let rows = List.map (fields row_fields ["id"; "size"]) (list data "buffers") in
  let index = table (numbered (List.map (List.assoc "id") rows)) in
  let name l = match get l "name" with Some v -> v | None -> Str "default" in
  need (List.length pools < 63) "too many pools";
  let pool_index = table (numbered (List.map name pools)) in
  let ids name = List.map (fun v -> let a, b = pair v in (Z.of_int (find index a), Z.of_int (find index b))) (list data name) in
  let known l = need (is_right "" 'I' (List l)) "ids were expected"; List.iter (fun v -> ignore (find index v)) l in
  List.iter (function List l -> known l | _ -> raise (Wrong "ids were expected")) (list data "together");
  List.iter (fun use -> known (list (fields (spec "buffers=I weight=c?") ["buffers"] use) "buffers")) (list data "bank");
  let interval = match get data "interval" with Some (Str s) -> s | _ -> Option.value interval ~default:"half-open" in
  let rows = List.mapi (fun k l -> row_of index pool_index (interval = "closed") (Z.of_int k) l) rows in
  let array = Array.of_list rows in
  let above (r : Proved.row) = match r.alias_of with Some (h, k) -> Some (h, k) | None -> Option.map (fun t -> (t, Z.zero)) r.relative_to in
  let rec walk left r = need (left >= 0) "a circle"; match above r with None -> () | Some (h, _) -> walk (left - 1) array.(Z.to_int h) in
  List.iter (fun (r : Proved.row) -> walk (Array.length array) r; match r.alias_of with
    | Some (h, k) -> need (Z.leq (Z.add k r.size) array.(Z.to_int h).size) "an alias outside of its buffer" | None -> ()) rows;
  let cost l = match get l "cost" with Some (Decimal q) -> q | Some (Int n) -> Q.of_bigint n | _ -> Q.zero in
  let parts = List.fold_left (fun m l -> Z.lcm m (Q.den (cost l))) Z.one pools in
  let pool l = { Proved.capacity = int l "size"; pool_alignment = int_or l "alignment" Z.one;
    base_address = int_or l "base_address" Z.zero; reserved = List.map ints (list l "reserved");
    price = Q.to_bigint (Q.mul (cost l) (Q.of_bigint parts)) } in
  { Proved.rows; pools = List.map pool pools; conflicts = ids "conflicts"; may_share = ids "may_share"; parts }, interval

let problem_of_csv interval sizes text =
  need (List.length sizes < 63 && sizes <> []) "too many pools, or none";
  let trim s = let n = String.length s in let rec l i = if i < n && s.[i] = ' ' then l (i + 1) else i in
    let rec r i = if i > l 0 && s.[i - 1] = ' ' then r (i - 1) else i in String.sub s (l 0) (r n - l 0) in
  let line s = let n = String.length s in if n > 0 && s.[n - 1] = '\r' then String.sub s 0 (n - 1) else s in
  let raw = String.split_on_char '\n' text in
  let last = List.length raw - 1 in
  let lines = List.mapi (fun k s -> let t = line s in need (k < last || t = s) "a carriage return alone"; t) raw in
  List.iter (String.iter (fun c -> need (c >= ' ' && c <> '"' && c <> '\127') "quotes or control characters in a table")) lines;
  let rows = List.map (String.split_on_char ',') (List.filter (fun s -> trim s <> "") lines) in
  let names = ["id", "id"; "size", "size"; "lower", "start"; "start", "start"; "upper", "end"; "end", "end"; "alignment", "alignment"; "offset", "offset"] in
  let head = match rows with h :: _ -> List.map trim h | [] -> [] in
  let columns = List.map (fun c -> try List.assoc c names with Not_found -> raise (Wrong "a column that is not known")) head in
  need (List.length (List.sort_uniq compare columns) = List.length columns &&
    List.for_all (fun c -> List.mem c columns) ["id"; "size"; "start"; "end"]) "a column is missing, or twice";
  let interval = Option.value interval ~default:(if List.mem "end" head then "closed" else "half-open") in
  let cell name c = if name = "id" then [name, Str c] else
    let c = trim c in if c = "" && (name = "alignment" || name = "offset") then [] else begin
      let is_below = String.length c > 1 && c.[0] = '-' in
      let digits = if is_below then String.sub c 1 (String.length c - 1) else c in
      need (is_number digits && String.length digits < 20 && not (is_below && digits = "0")) "a wrong number";
      [name, Int (Z.of_string c)] end in
  let rows = List.map (fun cells -> need (List.length cells = List.length columns) "a row of another length";
    let l = List.concat (List.map2 cell columns cells) in ignore (fields row_fields ["id"; "size"; "start"; "end"] (Obj l)); l) (List.tl rows) in
  let index = table (numbered (List.map (List.assoc "id") rows)) in
  let pool_index = table (List.mapi (fun q _ -> (Str (string_of_int q), q)) sizes) in
  let pool size = { Proved.capacity = size; pool_alignment = Z.one; base_address = Z.zero; reserved = []; price = Z.zero } in
  { Proved.rows = List.mapi (fun k l -> row_of index pool_index (interval = "closed") (Z.of_int k) l) rows;
    pools = List.map pool sizes; conflicts = []; may_share = []; parts = Z.one }, interval

(* Certificates *)
let size_of w = if w = "-" then None else Some (number (two 63) w)
let tail s = String.sub s 1 (String.length s - 1)
let reference n w =
  let low = number (two 63) in
  try if w <> "" && is_digit w.[0] then Proved.By_lemma (low w) else match w, List.map low (String.split_on_char ':' (tail w)) with
    | _, [k] when w.[0] = '@' -> Proved.By_set (k, Z.one, Z.zero, Z.one)
    | _, [k; g; r; m] when w.[0] = '@' && Z.sign g > 0 && Z.sign m > 0 && Z.lt m (two n) -> Proved.By_set (k, g, r, m)
    | _, [k] when w.[0] = '$' -> Proved.By_worth k
    | _ -> Proved.By_nothing
  with Wrong _ | Invalid_argument _ -> Proved.By_nothing
let rec split k l = if k = 0 then ([], l) else match l with
  | a :: t -> let b, c = split (k - 1) t in (a :: b, c) | [] -> raise (Wrong "a line that ends early")
let line n count l =
  let nth = number (Z.of_int count) and big = number (two 63) and worth = number (two 127) in
  let state rows =
    let row w = match String.split_on_char ':' w with
      | [i; lows] -> (nth i, List.map (fun v -> if v = "-" then None else Some (big v)) (String.split_on_char ',' lows))
      | _ -> raise (Wrong "a wrong state") in
    let rows = List.map row rows in ignore (table (List.map (fun (i, _) -> (i, 0)) rows)); rows in
  match l with
  | ["set"; "time"; t] -> Proved.Time_set (if t <> "" && t.[0] = '-' then Z.neg (big (tail t)) else big t)
  | "set" :: "of" :: l -> Proved.List_set (List.map nth l)
  | "worth" :: scale :: rows -> Proved.Worth (worth scale, List.map (fun w -> match List.map worth (String.split_on_char ':' w) with
      | [k; q; v] when Z.lt q (Z.of_int n) -> ((k, nats.(Z.to_int q)), v) | _ -> raise (Wrong "a wrong worth")) rows)
  | "l" :: b :: r :: s :: st -> Proved.Rest_lemma (big b, reference n r, reference n s, state st)
  | "s" :: b :: l -> let refs, st = split n l in Proved.Pool_lemma (big b, List.map (reference n) refs, state st)
  | _ -> raise (Wrong "a line that is none of a certificate")
let rec parts n count = function
  | [] -> []
  | ("claim" :: ends) :: l ->
      let rec go lines = function
        | ["end"; w] :: l -> let alone = w <> "" && w.[0] = '!' in
            (List.rev lines, (if alone then Proved.By_nothing else reference n w), (if alone then Some (number (two 63) (tail w)) else None), l)
        | w :: l -> go (line n count w :: lines) l
        | [] -> raise (Wrong "a certificate that ends early") in
      let lines, last, nowhere, l = go [] l in
      { Proved.claimed = List.map (number (two 63)) ends; lines; closing = last; nowhere } :: parts n count l
  | _ -> raise (Wrong "a claim was expected")
let claim n = function
  | ["infeasible"] -> Proved.Infeasible
  | "used" :: l -> Proved.Used (List.map (fun w -> Some (number (two 63) w)) l)
  | kind :: k :: d :: l when List.mem kind ["cost"; "speed"; "balanced"] ->
      let rec tops free = function "-" :: l when free -> None :: tops true l
        | w :: l -> Some (number (two 63) w) :: tops false l | [] -> [] in
      let l = if l = [] && kind <> "balanced" then List.init n (fun _ -> None) else tops true l in
      need (List.length l = n && (kind <> "balanced" || List.nth l (n - 1) <> None)) "a claim about other pools";
      let d = number (two 127) d in need (Z.sign d > 0) "no parts";
      Proved.Costs ((match kind with "cost" -> Proved.Plain | "speed" -> Proved.Speed | _ -> Proved.Balanced), number (two 127) k, d, l)
  | _ -> raise (Wrong "a claim that is none")

let read name = let f = open_in_bin name in let s = really_input_string f (in_channel_length f) in close_in f; s
let rec starts s i = i < String.length s && (s.[i] = '{' || (String.contains " \t\r\n" s.[i] && starts s (i + 1)))
let main interval problem certificate given =
  let text = read problem and lines = List.map words (String.split_on_char '\n' (read certificate)) in
  check_utf8 text;
  let text = if String.length text > 2 && String.sub text 0 3 = "\xef\xbb\xbf" then String.sub text 3 (String.length text - 3) else text in
  let head, sizes, said, lines = match lines with
    | head :: ("sizes" :: sizes) :: said :: l -> head, List.map size_of sizes, said, l | _ -> raise (Wrong "not a certificate") in
  need (head = ["memplan-lemmas/1"]) "of another format";
  let lines = match List.rev lines with [""] :: l -> List.rev l | _ -> raise (Wrong "a certificate ends with a line") in
  let given = List.map (fun w -> match String.split_on_char '@' w with
    | [size] -> (size_of size, None) | [size; base] -> (size_of size, Some (number (two 63) base)) | _ -> raise (Wrong "a wrong pool")) given in
  let p, interval = if starts text 0 then problem_of_json interval text else problem_of_csv interval sizes text in
  let p = if given = [] then p else begin
    need (List.length given = List.length p.pools) "other pools";
    { p with Proved.pools = List.map2 (fun (q : Proved.pool) (size, base) ->
      { q with Proved.capacity = size; base_address = Option.value base ~default:q.base_address }) p.pools given } end in
  let n = List.length p.pools in
  let c = { Proved.sizes; says = claim n said; proofs = parts n (List.length p.rows) lines } in
  if Proved.check p c then begin
    Printf.printf "proved: %s, in pools of %s bytes, of %s with %s lifetimes\n" (String.concat " " said)
      (String.concat ", " (List.map (fun (q : Proved.pool) -> match q.capacity with Some s -> Z.to_string s | None -> "-") p.pools))
      problem interval; 0 end
  else (print_endline "refused: the certificate does not prove what it claims of this problem"; 3)
let () = exit (try match List.tl (Array.to_list Sys.argv) with
  | "--inclusive" :: p :: c :: l -> main (Some "closed") p c l
  | "--half-open" :: p :: c :: l -> main (Some "half-open") p c l
  | p :: c :: l -> main None p c l
  | _ -> raise (Wrong "two files")
  with Wrong why | Failure why | Invalid_argument why | Sys_error why -> print_endline ("wrong input: " ^ why); 2
  | End_of_file | Stack_overflow | Not_found -> print_endline "wrong input"; 2)
