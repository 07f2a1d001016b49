(* Maps from integers, as the tries of the standard library: a path of bits leads to each value. *)
From Coq Require Import ZArith List FMapPositive OrderedTypeEx.
Import ListNotations.

Module M.
  (* The path of a key, and the key of a path. *)
  Definition path i := match i with Z0 => xH | Zpos p => xO p | Zneg p => xI p end.
  Definition key p := match p with xH => Z0 | xO q => Zpos q | xI q => Zneg q end.

  Definition t := PositiveMap.t.
  Definition empty A : t A := PositiveMap.empty A.
  Definition find {A} i (m : t A) := PositiveMap.find (path i) m.
  Definition mem {A} i (m : t A) := match find i m with Some _ => true | None => false end.
  Definition add {A} i (a : A) (m : t A) := PositiveMap.add (path i) a m.
  Definition remove {A} i (m : t A) := PositiveMap.remove (path i) m.
  Definition map {A B} (f : A -> B) (m : t A) := PositiveMap.map f m.
  Definition elements {A} (m : t A) := List.map (fun e => (key (fst e), snd e)) (PositiveMap.elements m).
End M.

Module F.
  Lemma path_key i : M.key (M.path i) = i.
  Proof using. now destruct i. Qed.

  Lemma key_path p : M.path (M.key p) = p.
  Proof using. now destruct p. Qed.

  Lemma empty_o A i : M.find i (M.empty A) = None.
  Proof using. apply PositiveMap.gempty. Qed.

  Lemma add_o {A} (m : M.t A) i j a : M.find j (M.add i a m) = if Z_as_OT.eq_dec i j then Some a else M.find j m.
  Proof using.
    unfold M.find, M.add. destruct (Z_as_OT.eq_dec i j) as [<-|N]; [apply PositiveMap.gss|].
    apply PositiveMap.gso. intros E. apply N. now rewrite <- (path_key i), <- (path_key j), E.
  Qed.

  Lemma remove_o {A} (m : M.t A) i j : M.find j (M.remove i m) = if Z_as_OT.eq_dec i j then None else M.find j m.
  Proof using.
    unfold M.find, M.remove. destruct (Z_as_OT.eq_dec i j) as [<-|N]; [apply PositiveMap.grs|].
    apply PositiveMap.gro. intros E. apply N. now rewrite <- (path_key i), <- (path_key j), E.
  Qed.

  Lemma elements_o {A} (m : M.t A) i a : M.find i m = Some a <-> In (i, a) (M.elements m).
  Proof using.
    unfold M.find, M.elements. rewrite in_map_iff. split.
    - intros H. exists (M.path i, a). simpl. rewrite path_key. split; [easy|]. now apply PositiveMap.elements_correct.
    - intros ([p b] & [= <- <-] & H). simpl. rewrite key_path. now apply PositiveMap.elements_complete.
  Qed.
End F.
