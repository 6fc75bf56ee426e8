/** The plural that Kubernetes' own resources would have: policies, ingresses, gateways, boxes. */

/** Of a lower-case word; the few irregular ones are given by whoever defines the resource. */
export function pluralize(word: string): string {
  if (/(?:s|x|z|ch|sh)$/.test(word)) return `${word}es`
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return `${word}s`
}
