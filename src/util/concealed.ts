/**
 * Recognises concealed values, such as old values of Secrets, which must not be written or shown. The class is in
 * causation/concealed-value.ts.
 */
import { isContainer } from './json/json.ts'

/** Identifies concealed values of all copies of this package: a program may load several. */
export const concealedBrand: unique symbol = Symbol.for('kopf.ConcealedValue') as never

/** The text of a concealed value in output and JSON. */
export const concealedText = '[concealed]'

export function isConcealed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && concealedBrand in value
}

/** Whether a value contains a concealed one. `text` is its JSON: the value is searched only if the text contains the placeholder. */
export function holdsConcealed(root: unknown, text: string): boolean {
  if (!text.includes(concealedText)) return false
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (isConcealed(value)) return true
    if (isContainer(value)) for (const inner of Object.values(value)) pending.push(inner)
  }
  return false
}
