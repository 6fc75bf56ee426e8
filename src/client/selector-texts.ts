/** Selectors as the API takes them in a query. Pure. */
import type { ApiCall } from './calls.ts'
import type { SelectionOptions, SelectorText } from './client-options.ts'

export function toSelectionQuery({ labelSelector, fieldSelector }: SelectionOptions): NonNullable<ApiCall['query']> {
  return {
    labelSelector: labelSelector === undefined ? undefined : toText(labelSelector, (value) => value),
    fieldSelector: fieldSelector === undefined ? undefined : toText(fieldSelector, escapeField),
  }
}

function toText(selector: SelectorText, toValue: (value: string) => string): string | undefined {
  if (typeof selector === 'string') return selector === '' ? undefined : selector
  const terms = Object.entries(selector).map(([key, value]) => `${key}=${toValue(value)}`)
  return terms.length === 0 ? undefined : terms.join(',')
}

/** Values of labels cannot hold these signs, values of fields can. */
function escapeField(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}
