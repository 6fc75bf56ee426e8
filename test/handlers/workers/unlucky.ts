/** Throws when it is loaded, unless the environment of the thread, copied when it is started, has the variable. */
if (process.env['KOPF_TEST_LUCK'] === undefined) throw new Error('no luck')

export default function fn(): string {
  return 'lucky'
}
