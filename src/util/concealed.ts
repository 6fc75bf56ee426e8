/** The mark of values that must never be written or shown, such as old values of Secrets. The class is in core/causation/concealed-value.ts. */
import { isContainer } from './json.ts'

/** Known by this mark rather than by the class, since a program may load this package twice. */
export const concealedBrand: unique symbol = Symbol.for('kopf.ConcealedValue') as never

/** What is printed and written as JSON in place of a concealed value. */
export const concealedText = '[concealed]'

export function isConcealed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && concealedBrand in value
}

/** Whether a value, whose text as JSON is given, holds a concealed one. The value is looked through only if the text says that it may. */
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
