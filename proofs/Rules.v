(* The rules of certificates: what refutes a state, which says for some buffers the least offset in each pool. *)
From Coq Require Import ZArith List Lia Bool Permutation Mergesort Orders.
From Verified Require Import Spec Packing Legal Instance Compile.
Import ListNotations.
Open Scope Z_scope.

Definition lows := list (option Z).   (* one a pool; None: not there *)
Definition state := Z -> option lows.

Inductive reference := by_lemma (k : Z) | by_set (k g r bits : Z) | by_worth (k : Z) | by_nothing.

Record clique := Clique { free : list item; blocks : list (list (Z * Z)) }.

Module Start <: TotalLeBool.
  Definition t := (Z * Z)%type.
  Definition leb (a b : t) := fst a <=? fst b.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Z.leb_le. lia. Qed.
End Start.
Module SortStarts := Sort Start.

Module High <: TotalLeBool.
  Definition t := (Z * item)%type.
  Definition leb (a b : t) := fst b <=? fst a.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Z.leb_le. lia. Qed.
End High.
Module SortHigh := Sort High.

Fixpoint put (q : nat) (v : option Z) (l : lows) : lows := match l, q with
  | [], _ => []
  | _ :: t, O => v :: t
  | h :: t, S q => h :: put q v t
  end.

Lemma put_same q v l o : nth_error l q = Some o -> nth_error (put q v l) q = Some v.
Proof. revert l. induction q as [|q IH]; intros [|h t]; simpl; try discriminate; auto. Qed.

Lemma put_other q v l k : k <> q -> nth_error (put q v l) k = nth_error l k.
Proof. revert l k. induction q as [|q IH]; intros [|h t] [|k]; simpl; try congruence; auto. Qed.

Definition numbered {A} (l : list A) := combine (seq 0 (length l)) l.

Lemma numbered_in {A} (l : list A) k v : nth_error l k = Some v -> In (k, v) (numbered l).
Proof.
  intros H. apply nth_error_In with k. exact (nth_combine l 0%nat k v H).
Qed.

Lemma pairs_perm {A} (R : A -> A -> Prop) : (forall a b, R a b -> R b a) ->
  forall l k, Permutation l k -> ForallOrdPairs R l -> ForallOrdPairs R k.
Proof.
  intros S l k P. induction P as [|a l k P IH|a b l|l k n _ IH1 _ IH2]; intros H; auto.
  - inversion_clear H as [|? ? Ha Hl]. constructor; auto. now rewrite <- P.
  - inversion_clear H as [|? ? Ha Hl]. inversion_clear Hl as [|? ? Hb Hl']. inversion_clear Ha. repeat constructor;
    auto.
Qed.

Section Rules.
  Variables (I : instance) (ends : list Z).

  Definition is_gone (ls : lows) := forallb (fun v => match v with None => true | _ => false end) ls.

  (* No legal offset of a buffer in a pool that is at least x is below this. *)
  Definition legal a q x := match nth_error (spots a) q, nth_error ends q with
    | Some (Some sp), Some e => climb (bytes a) (pin a) (page a) many sp (e - bytes a) x
    | _, _ => None
    end.

  Definition first a : lows := map (fun q => legal a q 0) (seq 0 (length ends)).
  Definition at_first : state := fun i => match M.find i (index I) with Some a => Some (first a) | None => None end.

  (* Each low of k is at least that of l. *)
  Fixpoint covers (l k : lows) := match l, k with
    | _, [] => true
    | [], None :: k => covers [] k
    | _ :: l, None :: k => covers l k
    | Some a :: l, Some b :: k => (a <=? b) && covers l k
    | _, _ => false
    end.

  Definition is_lemma_in (lemma : list (Z * lows)) (low : state) :=
    forallb (fun e => match low (fst e) with Some k => covers (snd e) k | None => false end) lemma.

  Fixpoint within (mask : list bool) (l : lows) := match l, mask with
    | [], _ => true
    | None :: l, _ :: mask => within mask l
    | None :: l, [] => within [] l
    | Some _ :: l, b :: mask => b && within mask l
    | Some _ :: _, [] => false
    end.

  Definition chosen (mask : list bool) : list nat := map fst (filter snd (numbered mask)).

  Definition inside mask (low : state) S := filter (fun a =>
    match low (id a) with Some l => within mask l | None => false end) (free S).

  Definition grid a q := match nth_error (spots a) q with Some (Some sp) => (step sp, rest sp) | _ => (1, 0) end.
  Definition fits g r q a := ((fst (grid a q)) mod g =? 0) && ((snd (grid a q) - r) mod g =? 0).

  Definition up g r x := x + (r - x) mod g.
  Definition cells g a := bytes a + (- bytes a) mod g.
  Definition round_up g r (bs : list (Z * Z)) := map (fun b => (up g r (fst b), up g r (snd b))) bs.

  (* Do some of the first, which end by e but for what they waste, need more than there is? *)
  Fixpoint too_long g r q e bs l at_ amount waste := match l with
    | [] => false
    | (low, a) :: t =>
        if fits g r q a then
          let at_ := Z.min at_ low in
          let amount := amount + cells g a in
          let waste := Z.max waste ((- bytes a) mod g) in
          (room 1 bs at_ (e + waste) <? amount) || too_long g r q e bs t at_ amount waste
        else too_long g r q e bs t at_ amount waste
    end.

  Definition low_in (low : state) q a := match low (id a) with
    | Some l => match nth_error l q with Some (Some v) => Some v | _ => None end
    | None => None
    end.

  Definition one_pool g r q (low : state) S members := match nth_error ends q, nth_error (blocks S) q with
    | Some e, Some bs =>
        let rows := flat_map (fun a => match low_in low q a with Some v => [(v, a)] | None => [] end) members in
        let sorted := SortHigh.sort rows in
        existsb (fun a => fits g r q a && match low_in low q a with None => true | _ => false end) members ||
        match sorted with
        | (top, _) :: _ => too_long g r q e (round_up g r bs) sorted top 0 0
        | [] => false
        end
    | _, _ => false
    end.

  Definition blocks_in S q := match nth_error (blocks S) q with Some bs => bs | None => [] end.
  Definition room_in g S q := match nth_error ends q with Some e => room g (blocks_in S q) 0 e | None => 0 end.

  Definition is_set_full S g r bits (low : state) :=
    let mask := map (fun q => Z.testbit bits (Z.of_nat q)) (seq 0 (length ends)) in
    let members := inside mask low S in
    (0 <? g) && match chosen mask with
      | [] => false
      | [q] => one_pool g r q low S members
      | qs => total (room_in g S) qs <? total bytes (filter (fun a => bytes a mod g =? 0) members)
      end.

  Record known := Known {
    sets : M.t clique; lemmas : M.t (list (Z * lows)); worths : M.t (state -> bool);
    set_count : Z; lemma_count : Z; worth_count : Z
  }.
  Definition nothing_known := Known (M.empty _) (M.empty _) (M.empty _) 0 0 0.

  Definition refuted K (low : state) ref changed :=
    existsb (fun i => match low i with Some l => is_gone l | None => false end) changed ||
    match ref with
    | by_lemma k => match M.find k (lemmas K) with Some l => is_lemma_in l low | None => false end
    | by_set k g r bits => match M.find k (sets K) with Some c => is_set_full c g r bits low | None => false end
    | by_worth k => match M.find k (worths K) with Some f => f low | None => false end
    | by_nothing => false
    end.

  (* A set of buffers of which every two meet. *)
  Fixpoint all_meet l := match l with [] => true | a :: t => forallb (meets (rel I) a) t && all_meet t end.

  Definition clique_of (members : list item) := Clique
    (filter (fun a => match pin a with None => true | _ => false end) members)
    (map (fun qb => SortStarts.sort (snd qb ++ flat_map (wall (fst qb)) members)) (numbered (bars I))).

  Definition is_alive t a := existsb (fun k => (fst k <=? t) && (t <? snd k)) (lives a).

  Definition set_at t := let members := filter (is_alive t) (solid I) in
    if ties (rel I) && negb (all_meet members) then None else Some (clique_of members).

  Definition set_of numbers :=
    let named := fold_left (fun m i => M.add i tt m) numbers (M.empty unit) in
    let members := filter (fun a => M.mem (id a) named) (solid I) in
    if all_meet members then Some (clique_of members) else None.

  Definition override (low : state) b l : state := fun i => if i =? b then Some l else low i.
  Definition only q v (l : lows) := put q v (map (fun _ => None) l).

  (* b lies at its low or above it, in one pool; below the ends of all that meet it, so that all lie above it, or not.
    *)
  Definition near a q (m : M.t lows) := flat_map (fun e => match nth_error (snd e) q, M.find (fst e) (index I) with
    | Some (Some l), Some c => if meets (rel I) a c then [(fst e, snd e, l, c)] else []
    | _, _ => []
    end) (M.elements m).

  Definition raise a q at_ m (e : Z * lows * Z * item) := let '(j, l, v, c) := e in
    M.add j (put q (match legal c q (at_ + bytes a) with Some w => Some (Z.max v w) | None => None end) l) m.

  Definition least_end (es : list (Z * lows * Z * item)) := fold_right (fun e least =>
    let '(_, _, v, c) := e in
    match least with None => Some (v + bytes c) | Some w => Some (Z.min w (v + bytes c)) end) None es.

  Definition rests_or_lifts K b rests lifts (m : M.t lows) := match M.find b (index I), M.find b m with
    | Some a, Some l => match filter (fun e => match snd e with None => false | _ => true end) (numbered l) with
        | [(q, Some at_)] =>
            let es := near a q m in
            let lifted := match least_end es with Some w => legal a q (Z.max at_ w) | None => None end in
            (let resting := fold_left (raise a q at_) es (M.remove b m) in
             refuted K (fun i => M.find i resting) rests (map (fun e => fst (fst (fst e))) es)) &&
            refuted K (override (fun i => M.find i m) b (put q lifted l)) lifts [b]
        | _ => false
        end
    | _, _ => false
    end.

  (* b is in one of its pools. *)
  Definition is_nowhere K b refs (m : M.t lows) := match M.find b m with
    | Some l => forallb (fun e => match snd e with
        | None => true
        | Some v => match nth_error refs (fst e) with
            | Some ref => refuted K (override (fun i => M.find i m) b (only (fst e) (Some v) l)) ref [b]
            | None => false
            end
        end) (numbered l)
    | None => false
    end.

  Definition read_state (st : list (Z * lows)) : option (M.t lows) :=
    if forallb (fun e => M.mem (fst e) (index I) && Nat.eqb (length (snd e)) (length ends)) st
    then Some (fold_left (fun m e => M.add (fst e) (snd e) m) st (M.empty lows)) else None.
End Rules.
