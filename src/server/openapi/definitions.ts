/** The schemas of built-in kinds with their descriptions. Loaded with the first request for a document. */
import { unpackJson } from '../packed-json.ts'
import type { SchemaDefinitions } from './names.ts'

export async function loadDefinitions(): Promise<SchemaDefinitions> {
  const { packedDefinitions } = await import('./definitions.generated.ts')
  return unpackJson(packedDefinitions) as SchemaDefinitions
}
