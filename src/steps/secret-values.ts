/**
 * Keeps secret values out of messages that quote an object: a server that rejects an object repeats some of its values. All values of a Secret are
 * secret; in other kinds, strings that look like secrets by their name or form. Called by reconciling/children/requests.ts. Pure.
 */
import { isPlainObject, type Json } from '../util/json/json.ts'
import { isSecretName, looksSecret } from './secret-detection.ts'

/** The values of an object that must not be repeated, as text. */
export function secretValuesOf(object: { readonly [key: string]: Json }): ReadonlySet<string> {
  const found = new Set<string>()
  const isSecret = object['kind'] === 'Secret'
  const pending: Array<{ readonly value: Json; readonly isHidden: boolean }> = []
  for (const [key, value] of Object.entries(object)) {
    pending.push({ value, isHidden: isSecret && (key === 'data' || key === 'stringData') })
  }
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, isHidden } = next
    if (Array.isArray(value)) {
      for (const item of value) pending.push({ value: item, isHidden })
    } else if (isPlainObject(value)) {
      // An entry of a container's `env` has its name in the field `name`, and the secret in the field `value`.
      const isNamedSecret = typeof value['name'] === 'string' && isSecretName(value['name'])
      for (const [key, item] of Object.entries(value)) {
        const isPair = isNamedSecret && key === 'value'
        pending.push({ value: item, isHidden: isHidden || isPair || isSecretName(key) })
      }
    } else if (isHidden || (typeof value === 'string' && looksSecret(value))) {
      addForms(found, String(value ?? ''))
    }
  }
  return found
}

/** Adds the value in the forms in which a message may have it: plain, JSON-escaped, and decoded if it is base64. */
function addForms(found: Set<string>, value: string): void {
  const decoded = Buffer.from(value, 'base64')
  const forms = [value, JSON.stringify(value).slice(1, -1)]
  if (decoded.toString('base64') === value) forms.push(decoded.toString())
  for (const form of forms) if (form !== '') found.add(form)
}

/** The maximum number of character comparisons; more would block the event loop for longer than a tenth of a second. */
const maxCompared = 50_000_000

/** Whether a text contains one of the values. Returns true if they are too large to compare, so that the text is not shown. */
export function repeatsSecret(text: string, values: ReadonlySet<string>): boolean {
  if (text.length * values.size > maxCompared) return true
  for (const value of values) if (text.includes(value)) return true
  return false
}
