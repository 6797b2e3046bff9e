/* regrow.c - see regrow.h. */
#include "family/regrow.h"

#include "os/pages.h"

/* The metadata of a filter that was opened lies in the memory that is about to go: it moves out. */
nay_status nay__payload_new(nay_filter *f, uint64_t nbytes, nay_memory *fresh) {
  size_t size;
  if (!nay__size_ok(nbytes, &size)) return NAY_ENOMEM;
  if (f->meta != NULL && !f->meta_owned) NAY_TRY(nay_filter_set_meta(f, f->meta, f->meta_len));
  NAY_TRY(nay__memory_from(&f->allocator, size, (f->flags & NAY_ZEROED) != 0, fresh));
  if (nay__allocator_is_default(&f->allocator) && (f->flags & NAY_SMALL_PAGES) == 0) {
    nay__pages_want_huge(fresh->at, size);
  }
  return NAY_OK;
}

void nay__payload_take(nay_filter *f, nay_memory *fresh, size_t nbytes) {
  nay__memory_free(&f->allocator, &f->memory);
  f->memory = *fresh;
  f->bits.bytes = fresh->at;
  f->bits.in_cache = nbytes <= NAY_CACHE_BYTES;
  f->nbytes = nbytes;
}
