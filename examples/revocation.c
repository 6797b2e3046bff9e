/*
 * revocation.c - is this certificate revoked? Asks a directory of clubcards, as upki and CRLite
 * keep it, without the network. OpenSSL parses the certificates.
 *
 * chain.pem begins with the certificate and that of its issuer. Nothing here verifies the chain but
 * the issuer's signature, and nothing verifies the SCTs: a program does that before it asks.
 *
 *   $ revocation
 *   usage: revocation DIRECTORY chain.pem
 */
#include <nay_clubcard.h>
#include <openssl/ct.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SCTS 64
#define TRIALS 3 /* of a directory whose files are being replaced */

typedef struct file_bytes {
  unsigned char *at;
  size_t len;
} file_bytes;

/* What a clubcard is asked about a certificate, and the memory that it points to. */
typedef struct question {
  unsigned char issuer[32], *serial;
  nay_sct scts[MAX_SCTS];
  nay_certificate certificate;
} question;

static int read_file(const char *directory, const char *name, file_bytes *bytes) {
  char path[4096];
  long len;
  *bytes = (file_bytes){NULL, 0};
  if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path) return 0;
  FILE *f = fopen(path, "rb");
  if (f == NULL) return 0;
  if (fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
    bytes->at = malloc((size_t)len + 1);
    bytes->len = bytes->at != NULL ? fread(bytes->at, 1, (size_t)len, f) : 0;
    if (bytes->at != NULL && bytes->len != (size_t)len) free(bytes->at), bytes->at = NULL;
  }
  fclose(f);
  return bytes->at != NULL;
}

/* The contents of the INTEGER: behind its tag and its length, which is below 128. */
static int ask_serial(const X509 *leaf, question *q) {
  int len = i2d_ASN1_INTEGER(X509_get0_serialNumber(leaf), &q->serial);
  if (len < 3 || q->serial[1] > 127) return 0;
  q->certificate.serial = q->serial + 2;
  q->certificate.serial_len = (size_t)len - 2;
  return 1;
}

static int ask_issuer(const X509 *issuer, question *q) {
  unsigned char *der = NULL;
  int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(issuer), &der);
  if (len > 0) SHA256(der, (size_t)len, q->issuer);
  OPENSSL_free(der);
  q->certificate.issuer = q->issuer;
  return len > 0;
}

/* A list that cannot be parsed is no empty list. */
static int ask_scts(const X509 *leaf, question *q) {
  int found;
  STACK_OF(SCT) *list = X509_get_ext_d2i(leaf, NID_ct_precert_scts, &found, NULL);
  for (int i = 0; list != NULL && i < sk_SCT_num(list) && q->certificate.nscts < MAX_SCTS; i++) {
    const SCT *sct = sk_SCT_value(list, i);
    unsigned char *id;
    nay_sct *to = &q->scts[q->certificate.nscts];
    if (SCT_get0_log_id(sct, &id) != sizeof to->log) continue;
    memcpy(to->log, id, sizeof to->log);
    to->timestamp = SCT_get_timestamp(sct);
    q->certificate.nscts++;
  }
  q->certificate.scts = q->scts;
  if (list == NULL && found != -1) fprintf(stderr, "the list of SCTs cannot be parsed\n");
  int ok = list != NULL || found == -1; /* -1: the certificate has none */
  SCT_LIST_free(list);
  return ok;
}

static int ask(const char *path, question *q) {
  FILE *f = fopen(path, "r");
  X509 *leaf = f != NULL ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;
  X509 *issuer = leaf != NULL ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;
  int ok = issuer != NULL && X509_verify(leaf, X509_get0_pubkey(issuer)) == 1;
  q->certificate.size = sizeof q->certificate;
  if (issuer == NULL) fprintf(stderr, "%s: no certificate with that of its issuer\n", path);
  if (issuer != NULL && !ok) fprintf(stderr, "%s: the second did not sign the first\n", path);
  if (ok) ok = ask_serial(leaf, q) && ask_issuer(issuer, q) && ask_scts(leaf, q);
  X509_free(leaf);
  X509_free(issuer);
  if (f != NULL) fclose(f);
  return ok;
}

/* The answer of a file; 0: it cannot be read, and a message says so but when it is gone. */
static int answer_of(const char *directory, const char *name, const question *q, int *gone,
                     nay_revocation *answer) {
  file_bytes bytes;
  nay_clubcard card = {.size = sizeof card};
  nay_diag diag = {.what = "cannot be asked"};
  if (!read_file(directory, name, &bytes)) {
    *gone = 1;
    return 0;
  }
  nay_status status = nay_clubcard_open(bytes.at, bytes.len, &diag, &card);
  if (status == NAY_OK) status = nay_clubcard_check(&card, &q->certificate, answer);
  if (status != NAY_OK) fprintf(stderr, "%s/%s: %s\n", directory, name, diag.what);
  free(bytes.at);
  return status == NAY_OK;
}

/* Every file that covers the certificate is asked; the greatest answer holds. */
static int answer_of_all(const char *directory, const question *q, int *gone,
                         nay_revocation *answer) {
  file_bytes bytes;
  nay_clubcard index = {.size = sizeof index};
  nay_diag diag = {.what = ""};
  nay_revocation one;
  char name[NAY_CLUBCARD_NAME];
  unsigned nasked = 0;
  uint32_t file = 0;
  int ok = 1;
  *gone = 0;
  *answer = NAY_NOT_COVERED;
  if (!read_file(directory, "index.bin", &bytes)) {
    fprintf(stderr, "%s/index.bin: cannot be read\n", directory);
    return 0;
  }
  if (nay_clubcard_open(bytes.at, bytes.len, &diag, &index) != NAY_OK || index.version != 0) {
    fprintf(stderr, "%s/index.bin: %s\n", directory, diag.what);
    ok = 0;
  }
  while (ok && nay_clubcard_file(&index, &q->certificate, &file, name) == NAY_OK) {
    ok = answer_of(directory, name, q, gone, &one);
    if (ok && one > *answer) *answer = one;
    nasked++;
  }
  if (ok && nasked > 0 && *answer == NAY_NOT_COVERED) {
    fprintf(stderr, "%s: the files do not cover what the index says\n", directory);
    ok = 0;
  }
  free(bytes.at);
  return ok;
}

int main(int argc, char **argv) {
  static const char *const texts[] = {"not covered", "not enrolled", "not revoked", "revoked"};
  question q = {.serial = NULL};
  nay_revocation answer;
  int gone = 0, ok = 0;
  if (argc != 3) {
    printf("usage: revocation DIRECTORY chain.pem\n");
    return 2;
  }
  if (ask(argv[2], &q)) {
    for (int trial = 0; trial < TRIALS && !ok && (trial == 0 || gone); trial++) {
      ok = answer_of_all(argv[1], &q, &gone, &answer);
    }
    if (!ok && gone) fprintf(stderr, "%s: a file that the index names is missing\n", argv[1]);
  }
  OPENSSL_free(q.serial);
  if (!ok) return 2;
  printf("%s\n", texts[answer]);
  return answer == NAY_REVOKED ? 1 : 0;
}
