import { Operator, PermanentError } from 'kopf'

const kopf = new Operator()

kopf.on.create('kopfexamples', { id: 'brew' }, ({ spec, recorder }) => {
  recorder.info('Brewing', `${spec.cups} cups are on their way`)
  if (spec.cups > 10) recorder.warn('Strong', 'That is a lot of coffee')
  try {
    heatMilk(spec.milk)
  } catch (error) {
    // Posts an event of the type Error with the message of the error.
    recorder.exception(error, { reason: 'NoMilk' })
  }
})

function heatMilk(milk: string): void {
  if (milk === 'soy') throw new PermanentError('There is no soy milk')
}

export default kopf
