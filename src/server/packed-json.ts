/** Generated tables that are kept as JSON, packed with gzip: they are long, and packed they take a tenth of the room in the package. */
import { gunzipSync } from 'node:zlib'

/** `packed` is what tools/packed-module.ts has written. */
export function unpackJson(packed: string): unknown {
  return JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString('utf8'))
}
