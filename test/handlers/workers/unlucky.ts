/** Cannot be loaded until the environment says so: threads have a copy of it from when they are started. */
if (process.env['KOPF_TEST_LUCK'] === undefined) throw new Error('no luck')

export default function fn(): string {
  return 'lucky'
}
