(* Multipliers: what each byte of a set in a pool is worth; and what every plan costs at least, then. *)
From Coq Require Import ZArith Znumtheory List Lia Bool.
From Verified Require Import Spec Packing Legal Instance Compile Rules Sound.
Import ListNotations.
Open Scope Z_scope.

(* Sums over lists with one entry changed. *)
Lemma total_change {A} (same : A -> A -> bool) (f g : A -> Z) l a v :
  (forall b c, same b c = true <-> b = c) -> NoDup l -> In a l ->
  (forall b, g b = f b + if same b a then v else 0) -> total g l = total f l + v.
Proof.
  intros S N. induction N as [|b t Hb N IH]; intros H E; [destruct H|]. simpl. rewrite E.
  destruct H as [<-|H].
  - rewrite (proj2 (S b b) eq_refl). rewrite (total_ext g f); [lia|]. intros c Hc. rewrite E.
    destruct (same c b) eqn:X; [|lia]. apply S in X. now subst.
  - rewrite IH by auto. destruct (same b a) eqn:X; [|lia]. apply S in X. now subst.
Qed.

Section Costs.
  Variables (p : problem) (I : instance) (ends : list Z) (by_ : kind) (d : Z).

  (* Prices in parts of which d make one unit, if they are whole. *)
  Definition part_prices : option (list Z) :=
    if forallb (fun c => (c * d) mod parts p =? 0) (prices p by_)
    then Some (map (fun c => c * d / parts p) (prices p by_)) else None.

  Definition moved (ps : list (row * Z)) := total (fun rd => if 0 <? size (fst rd) then traffic (fst rd) else 0) ps.
  Definition traffic_of a := moved (parts_of (part_lists I) (id a)).
  Definition price_of ws a q := traffic_of a * nth q ws 0.

  Definition charges_of (m : M.t (list Z)) i := match M.find i m with Some l => l | None => [] end.
  Fixpoint plus (q : nat) v l := match l, q with
    | [], _ => []
    | h :: t, O => h + v :: t
    | h :: t, S q => h :: plus q v t
    end.

  Definition charge q w m a := M.add (id a) (plus q (w * bytes a) (charges_of m (id a))) m.

  (* Charges, and what the bytes of the pools are worth together. *)
  Fixpoint charge_all K rows (m : M.t (list Z)) : option (M.t (list Z) * Z) := match rows with
    | [] => Some (m, 0)
    | (k, q, w) :: t => match M.find k (sets K), charge_all K t m with
        | Some c, Some (m, worth) =>
            if 0 <=? w then Some (fold_left (charge q w) (free c) m, worth + w * room_in ends 1 c q) else None
        | _, _ => None
        end
    end.

  Definition homes_of (l : lows) := flat_map (fun e => match snd e with Some _ => [fst e] | None => [] end) (numbered l).

  Definition least (l : list Z) := match l with [] => 0 | a :: t => fold_right Z.min a t end.

  Definition is_dear k scale worth (table : list (item * list nat * list Z)) base step (low : state) :=
    let rows := map (fun e => let '(a, homes, charges) := e in
      match low (id a) with
      | Some l => map (fun q => nth q charges 0) (homes_of l)
      | None => map (fun q => nth q charges 0) homes
      end) table in
    existsb (fun r => match r with [] => true | _ => false end) rows ||
    let bound := - ((worth - total least rows) / scale) in
    (if step =? 0 then k <=? base else k <=? bound + (base - bound) mod step).

  (* What all plans cost but for multiples of a step. *)
  Definition base_of ws (table : list (item * list nat)) := total (fun e => match snd e with
    | q :: _ => price_of ws (fst e) q
    | [] => 0
    end) table.
  Definition differences ws (table : list (item * list nat)) := flat_map (fun e => match snd e with
    | o :: t => map (fun q => price_of ws (fst e) q - price_of ws (fst e) o) t
    | [] => []
    end) table.

  Definition value k (K : known) scale rows : option (state -> bool) :=
    match part_prices with
    | None => None
    | Some ws =>
        let firsts := map (fun a => (a, homes_of (first ends a))) (solid I) in
        let step := fold_right Z.gcd 0 (differences ws firsts) in
        let prices := fold_left (fun m a => let t := traffic_of a in M.add (id a) (map (fun c => scale * (t * c)) ws) m)
          (solid I) (M.empty (list Z)) in
        match charge_all K rows prices with
        | Some (m, worth) =>
            if (0 <? scale) && (0 <? d) && (0 <? parts p) && (0 <=? step) &&
              forallb (fun v => if step =? 0 then v =? 0 else v mod step =? 0) (differences ws firsts) &&
              forallb (fun r => 0 <=? traffic r) (Spec.rows p) && forallb (fun c => 0 <=? c) ws &&
              Nat.eqb (length ws) (length ends)
            then
              let table := map (fun e => (fst e, snd e, charges_of m (id (fst e)))) firsts in
              Some (is_dear k scale worth table (base_of ws firsts) step)
            else None
        | None => None
        end
    end.
End Costs.
