/**
 * Finds the imports of built-in kinds in a source file, such as `import { Secret } from 'kopf/kubernetes'`. Called by source-values.ts, which
 * resolves these names in client calls. Pure.
 */
import { closingOf, type SourceToken, splitAtCommas } from './source-tokens.ts'

/** A name that is imported from `kopf/kubernetes` or `kopf/kubernetes/<group>/<version>`. */
export interface BuiltinImport {
  /** The name in this file. */
  readonly name: string
  /** The imported kind. Undefined for `import * as name`, which has all kinds. */
  readonly kind: string | undefined
  /** `apps` in `kopf/kubernetes/apps/v1`. Undefined for `kopf/kubernetes`. */
  readonly group: string | undefined
}

const modules = /^kopf\/kubernetes(?:\/([\w-]+)\/\w+)?$/

export function findBuiltinImports(tokens: readonly SourceToken[]): readonly BuiltinImport[] {
  return tokens.flatMap(({ type, text }, position) => {
    const start = position + 1
    const isList = tokens[start]?.text === '{'
    if (type !== 'name' || text !== 'import' || !(isList || tokens[start]?.text === '*')) return []
    // `{ … } from 'module'` or `* as name from 'module'`.
    const end = isList ? closingOf(tokens, start) : start + 2
    const from = tokens[end + 2]
    const found = tokens[end + 1]?.text === 'from' && from?.type === 'string' ? modules.exec(from.text) : null
    if (found === null) return []
    const group = found[1]
    if (!isList) return [{ name: tokens[end]!.text, kind: undefined, group }]
    return splitAtCommas(tokens.slice(start + 1, end)).flatMap((words) => toImport(words, group))
  })
}

/** `Secret` or `Secret as S`. A type such as `type SecretSpec` is not a value. */
function toImport(words: readonly SourceToken[], group: string | undefined): BuiltinImport[] {
  const [kind, as, name] = words
  if (kind === undefined || (words.length > 1 && as?.text !== 'as')) return []
  return [{ name: (name ?? kind).text, kind: kind.text, group }]
}
