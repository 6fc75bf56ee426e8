/** The schemas of built-in kinds, with all their descriptions. Read when somebody asks for a document, and not before. */
import { unpackJson } from '../packed-json.ts'
import type { Definitions } from './names.ts'

export async function loadDefinitions(): Promise<Definitions> {
  const { packedDefinitions } = await import('./definitions.generated.ts')
  return unpackJson(packedDefinitions) as Definitions
}
