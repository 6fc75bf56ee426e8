/** The schemas of built-in kinds, with all their descriptions. Read when somebody asks for a document, and not before. */
import { gunzipSync } from 'node:zlib'
import type { Definitions } from './names.ts'

export async function loadDefinitions(): Promise<Definitions> {
  const { packedDefinitions } = await import('./definitions.generated.ts')
  return JSON.parse(gunzipSync(Buffer.from(packedDefinitions, 'base64')).toString('utf8')) as Definitions
}
