/** The hash that distinguishes the pods of different templates. Pure. */
import { isEqual } from '../../builtins/values.ts'
import type { PodTemplateSpec } from './shapes.ts'

export const hashLabel = 'pod-template-hash'

/** Digits are encoded with the alphabet of generated names, as in the real controllers. */
const letters = '456789bcdf'

/** Independent of the order of fields. A collision count yields another hash for the same template. */
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

/** True if the templates are equal apart from the hash label. */
export function isSameTemplate(one: PodTemplateSpec, other: PodTemplateSpec): boolean {
  return isEqual(withoutHash(one), withoutHash(other))
}

function withoutHash({ metadata, spec }: PodTemplateSpec): object {
  const { [hashLabel]: _, ...labels } = metadata?.labels ?? {}
  return { metadata: { ...metadata, labels }, spec }
}
