/** What others complain of, fit to be shown: on one line, not too long, and without whatever could be a secret. Pure. */

/** So much of the end is shown. */
const mostCharacters = 500

/** Shorter words are too common to be hidden wherever they stand. */
const shortestSecret = 6

export function hideSecrets(text: string, secrets: readonly string[] = []): string {
  const shown = secrets
    .filter((secret) => secret.length >= shortestSecret)
    .reduce((rest, secret) => rest.replaceAll(secret, '(hidden)'), text)
    // What follows such a word, and whatever is as long as a token.
    .replaceAll(/(token|password|secret|key|bearer|authorization)(["'\s:=]+)[^\s"',]+/gi, '$1$2(hidden)')
    .replaceAll(/[\w+/=~.-]{40,}/g, '(hidden)')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return shown.length > mostCharacters ? `…${shown.slice(-mostCharacters)}` : shown
}
