(* Reads a problem and a certificate, as docs/certificates.md says, for the checker that is proved, Proved.check:
   check [--inclusive|--half-open] PROBLEM CERTIFICATE [SIZE[@ADDRESS]|- ...]; status 0 proved, 3 refused, 2 wrong. *)
open Text
let row_of index pools closed number r =
  let buffer v = Z.of_int (find index v) and among name = List.map (find pools) (list r name) in
  let all = if has r "pools" then among "pools" else List.of_seq (Hashtbl.to_seq_values pools) in
  let homes = List.filter (fun q -> not (List.mem q (among "forbid_pools"))) (List.sort_uniq compare all) in
  let life (a, b) = (a, if closed then Z.succ b else b) and size = int_or r "size" Z.zero in
  let lives = if has r "start" then [(int_or r "start" Z.zero, int_or r "end" Z.zero)]
    else List.map ints (list r "lifetimes") in
  let rest v = (int_or v "modulus" Z.one, int_or v "remainder" Z.zero) in
  { Proved.number = number; size; lifetimes = List.map life lives; alignment = int_or r "alignment" Z.one;
    offset_mod = Option.map rest (get r "offset_mod"); no_cross = int r "no_cross"; pinned = int r "offset";
    homes = List.map (Array.get nats) homes; traffic = int_or r "traffic" size;
    relative_to = Option.map (fun v -> buffer (Option.get (get v "to"))) (get r "relative");
    alias_of = Option.map (fun v -> (buffer v, int_or r "alias_offset" Z.zero)) (get r "alias_of") }
let problem_of data closed =
  let pools = match list data "pools" with [] -> [Obj []] | l -> l in
  let index = table (List.map (fun r -> Option.get (get r "id")) (list data "buffers")) in
  let names = table (List.map (fun q -> Option.value (get q "name") ~default:(Str "default")) pools) in
  let pair = function List [a; b] -> (Z.of_int (find index a), Z.of_int (find index b)) | _ -> wrong "no pair" in
  let two entry = match pair entry with a, b -> need (a <> b) "a pair of one buffer"; (a, b) in
  let cost q = match get q "cost" with Some (Decimal c) -> c | _ -> Q.of_bigint (int_or q "cost" Z.zero) in
  let parts = List.fold_left (fun m q -> Z.lcm m (Q.den (cost q))) Z.one pools in
  let pool q = { Proved.capacity = int q "size"; pool_alignment = int_or q "alignment" Z.one;
    base_address = int_or q "base_address" Z.zero; reserved = List.map ints (list q "reserved");
    price = Q.to_bigint (Q.mul (cost q) (Q.of_bigint parts)) } in
  { Proved.rows = List.mapi (fun k -> row_of index names closed (Z.of_int k)) (list data "buffers");
    pools = List.map pool pools; conflicts = List.map pair (list data "conflicts");
    may_share = List.map two (list data "may_share"); parts }
(* A table, as an object of JSON. *)
let columns = ["id", "id"; "size", "size"; "lower", "start"; "start", "start"; "upper", "end"; "end", "end";
  "alignment", "alignment"; "offset", "offset"]
let trim = Str.global_replace (Str.regexp "^ +\\| +$") ""
let of_table sizes text =
  let rows = List.filter (fun s -> trim s <> "") (Str.split_delim (Str.regexp "\r?\n") text) in
  List.iter Grammar.check_row_of_table rows;
  let rows = List.map (String.split_on_char ',') rows in
  let head = match rows with h :: _ -> List.map trim h | [] -> wrong "an empty table" in
  let names = List.map (fun c -> try List.assoc c columns with Not_found -> wrong "a column that is not known") head in
  let cell name c = match name, trim c with
    | "id", _ -> (name, Str c)
    | ("alignment" | "offset"), "" -> (name, Null)
    | _, c -> need (is_all whole c && c <> "-0" && String.length c < 21) "no number"; (name, Int (Z.of_string c)) in
  let row cells = need (List.length cells = List.length names) "a row of another length";
    Obj (List.filter (fun (_, v) -> v <> Null) (List.map2 cell names cells)) in
  Grammar.check_columns names sizes;
  let pool q size = Obj (("name", Str (string_of_int q)) :: match size with Some n -> ["size", Int n] | None -> []) in
  (List.mem "end" head, Obj ["buffers", List (List.map row (List.tl rows)); "pools", List (List.mapi pool sizes)])
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
  let text = read problem in
  let lines = List.map (String.split_on_char ' ') (String.split_on_char '\n' (read certificate)) in
  Grammar.check_utf8 text;
  let text = if Str.string_match mark text 0 then Str.string_after text 3 else text in
  let sizes, said, lines = match lines with
    | ["memplan-lemmas/1"] :: ("sizes" :: sizes) :: said :: l -> (List.map size_of sizes, said, List.rev l)
    | _ -> wrong "of another format" in
  let lines = match lines with [""] :: l -> List.rev l | _ -> wrong "a certificate ends with a line" in
  let is_json = Str.string_match (Str.regexp "[ \t\r\n]*{") text 0 in
  let is_end, data = if is_json then (false, parsed text) else of_table sizes text in
  Grammar.check_json is_json data;
  let closed = match get data "interval", interval with
    | Some v, _ -> v = Str "closed" | None, Some s -> s = "--inclusive" | None, None -> is_end in
  let p = problem_of data closed in
  Grammar.check_problem p;
  let replaced (q : Proved.pool) w = match String.split_on_char '@' w with
    | [s; b] -> { q with capacity = size_of s; base_address = number (two 63) b }
    | [s] -> { q with capacity = size_of s } | _ -> wrong "a wrong pool" in
  let p = if given = [] then p else { p with pools = List.map2 replaced p.pools given } in
  let n = List.length p.pools in let proofs = Steps.parts n (List.length p.rows) lines in
  if Proved.check p { sizes; says = claim n said; proofs } then begin
    let sizes = List.map (Option.fold ~none:"-" ~some:Z.to_string) sizes in
    Printf.printf "proved: %s, in pools of %s bytes, of %s with %s lifetimes\n" (String.concat " " said)
      (String.concat ", " sizes) problem (if closed then "closed" else "half-open"); 0 end
  else (print_endline "refused: the certificate does not prove what it claims of this problem"; 3)
let () = exit (try match List.tl (Array.to_list Sys.argv) with
  | ("--inclusive" | "--half-open" as interval) :: p :: c :: l -> main (Some interval) p c l
  | p :: c :: l -> main None p c l
  | _ -> wrong "two files"
  with Wrong why | Failure why | Invalid_argument why | Sys_error why -> print_endline ("wrong input: " ^ why); 2
  | Stack_overflow -> print_endline "wrong input: too large or too deep for the stack (ulimit -s unlimited)"; 2
  | End_of_file | Not_found -> print_endline "wrong input"; 2)
