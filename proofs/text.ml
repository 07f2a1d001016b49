(* Words, numbers, and JSON as a tree: what docs/certificates.md says is read. *)
type json = Null | Bool | Int of Z.t | Decimal of Q.t | Str of string | List of json list | Obj of (string * json) list
exception Wrong of string
let wrong rule = raise (Wrong rule)
let need is_so rule = if not is_so then wrong rule
let two n = Z.shift_left Z.one n
let nats = Array.init 64 (fun k -> let rec nat k = if k = 0 then Proved.O else Proved.S (nat (k - 1)) in nat k)
let is_all pattern s = Str.string_match pattern s 0 && Str.match_end () = String.length s
let digits = "\\(0\\|[1-9][0-9]*\\)"
let natural = Str.regexp digits and whole = Str.regexp ("-?" ^ digits) and mark = Str.regexp "\xef\xbb\xbf"
let decimal = Str.regexp "[0-9][^eE]*\\([eE][-+]?[0-9][0-9]?[0-9]?\\)?" and spaces = Str.regexp "[ \t\r\n]*"
let number limit s =
  let n = if is_all natural s then Z.of_string s else limit in need (Z.lt n limit) "a wrong number"; n
let size_of w = if w = "-" then None else Some (number (two 63) w)
let table l = let t = Hashtbl.create 64 in
  List.iteri (fun k v -> need (not (Hashtbl.mem t v)) "an id or a name twice"; Hashtbl.add t v k) l; t
let find t v = match Hashtbl.find_opt t v with Some k -> k | None -> wrong "an id or a name of nothing"
(* Tokens, and the tree that they are *)
let hex = "[0-9a-fA-F][0-9a-fA-F]"
let escape = "\\\\u" ^ hex ^ hex
let token = Str.regexp ("[ \t\r\n]*\\(\"\\([^\"\\\\\000-\031]\\|\\\\[\"\\\\/bfnrt]\\|" ^ escape ^ "\\)*\"\\|-?" ^
  digits ^ "\\(\\.[0-9]+\\)?\\([eE][-+]?[0-9]+\\)?\\|[][{}:,]\\|true\\|false\\|null\\)")
let rec tokens s i l = if Str.string_match token s i then
    let after = Str.match_end () in tokens s after (Str.matched_group 1 s :: l)
  else (need (is_all spaces (String.sub s i (String.length s - i))) "not JSON"; List.rev l)
let escapes = Str.regexp ("\\\\u[dD][89abAB]" ^ hex ^ "\\\\u[dD][c-fC-F]" ^ hex ^ "\\|" ^ escape ^ "\\|\\\\.")
let unescape s =
  let e = Str.matched_string s and b = Buffer.create 4 in
  let code k = int_of_string ("0x" ^ String.sub e k 4) in
  if e.[1] <> 'u' then match e.[1] with
    | 'b' -> "\b" | 'f' -> "\012" | 'n' -> "\n" | 'r' -> "\r" | 't' -> "\t" | c -> String.make 1 c
  else let c = if String.length e = 6 then code 2 else 0x10000 + ((code 2 - 0xd800) lsl 10) + code 8 - 0xdc00 in
    need (Uchar.is_valid c) "a surrogate alone"; Buffer.add_utf_8_uchar b (Uchar.of_int c); Buffer.contents b
let decode w = Str.global_substitute escapes unescape (String.sub w 1 (String.length w - 2))
let rec value = function
  | "[" :: "]" :: t -> (List [], t) | "{" :: "}" :: t -> (Obj [], t)
  | "[" :: t -> items [] t | "{" :: t -> members [] t
  | ("true" | "false") :: t -> (Bool, t) | "null" :: t -> (Null, t)
  | w :: t when w.[0] = '"' -> (Str (decode w), t)
  | w :: t when is_all whole w && w <> "-0" && String.length w <= 40 -> (Int (Z.of_string w), t)
  | w :: t when is_all decimal w && String.length w <= 40 -> (Decimal (Q.of_string w), t)
  | _ -> wrong "not JSON"
and items l t = match value t with
  | v, "," :: t -> items (v :: l) t | v, "]" :: t -> (List (List.rev (v :: l)), t) | _ -> wrong "not JSON"
and members l = function
  | w :: ":" :: t when w.[0] = '"' -> let key = decode w in (match value t with
      | v, "," :: t -> members ((key, v) :: l) t | v, "}" :: t -> (Obj ((key, v) :: l), t) | _ -> wrong "not JSON")
  | _ -> wrong "not JSON"
let parsed text = match value (tokens text 0 []) with v, [] -> v | _ -> wrong "not JSON"
(* Fields; null is as if a field were absent. *)
let get v name = match v with
  | Obj l -> (match List.assoc_opt name l with Some Null -> None | found -> found) | _ -> wrong "an object was expected"
let has v name = get v name <> None and list v name = match get v name with Some (List l) -> l | _ -> []
let int v name = match get v name with Some (Int n) -> Some n | _ -> None
let int_or v name other = Option.value (int v name) ~default:other
let ints = function List [Int a; Int b] -> (a, b) | _ -> wrong "a pair was expected"
