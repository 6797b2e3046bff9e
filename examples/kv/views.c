/*
 * views.c - the store at one moment.
 *
 * A view is all that a reader needs: memtables and levels. Who has a reference to a view keeps all
 * of that alive, whatever replaces it. A change makes the next view, saves it as the manifest, and
 * puts it in the place of the current one.
 */
#include "store.h"

kv_view *kv__view_ref(kv *db) {
  pthread_mutex_lock(&db->mutex);
  kv_view *v = db->view;
  v->refs++;
  pthread_mutex_unlock(&db->mutex);
  return v;
}

void kv__view_unref(kv_view *v) {
  if (v == NULL || atomic_fetch_sub(&v->refs, 1) > 1) return;
  kv__memtable_unref(v->mem);
  kv__memtable_unref(v->imm);
  kv__levels_unref(v->levels);
  free(v);
}

kv_view *kv__view_next(const kv_view *v) {
  kv_view *next = kv__alloc(sizeof *next);
  next->refs = 1;
  if (v == NULL) return next;
  next->sequence = v->sequence;
  next->mem = v->mem;
  next->imm = v->imm;
  next->levels = v->levels;
  next->mem->refs++;
  if (next->imm != NULL) next->imm->refs++;
  if (next->levels != NULL) next->levels->refs++;
  return next;
}

nay_status kv__view_commit(kv *db, kv_view *v, nay_status status, kv_error *error) {
  if (status == NAY_OK) status = kv__manifest_save(db, v, error);
  pthread_mutex_lock(&db->mutex);
  kv_view *old = status == NAY_OK ? db->view : v;
  if (status == NAY_OK) db->view = v;
  pthread_mutex_unlock(&db->mutex);
  kv__view_unref(old);
  pthread_cond_broadcast(&db->changed);
  return status;
}
