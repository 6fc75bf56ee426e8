/** The short text by which the pods of one template are told from those of another. Pure. */
import { isEqual } from '../../builtins/values.ts'
import type { PodTemplate } from './shapes.ts'

export const hashLabel = 'pod-template-hash'

/** The digits of a number in the letters of generated names, as the real controllers write it. */
const letters = '456789bcdf'

/** The same for the same template, whatever the order of its fields; another one after a collision. */
export function templateHash(template: unknown, collisions = 0): string {
  const text = `${sortedText(template)}${collisions === 0 ? '' : collisions}`
  return [...String(fnv1a(text))].map((digit) => letters[Number(digit)]).join('')
}

function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}

/** Whether two templates make the same pods: the label with their hash does not count. */
export function isSameTemplate(one: PodTemplate, other: PodTemplate): boolean {
  return isEqual(withoutHash(one), withoutHash(other))
}

function withoutHash({ metadata, spec }: PodTemplate): object {
  const { [hashLabel]: _, ...labels } = metadata?.labels ?? {}
  return { metadata: { ...metadata, labels }, spec }
}
