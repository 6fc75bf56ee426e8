/** Generated tables are stored as gzipped JSON, a tenth of the size in the package. */
import { gunzipSync } from 'node:zlib'

/** `packed` is written by tools/packed-module.ts. */
export function unpackJson(packed: string): unknown {
  return JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString('utf8'))
}
