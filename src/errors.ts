/** Every error a user may throw or catch. The lowest floor of the house: everything may import it. */

/** The root of all errors of this package. `code` is stable across versions; the message is for people. */
export class KopfError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'KopfError'
    this.code = code
  }
}
