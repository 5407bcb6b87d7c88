// What the page knows of an answer that changes while it looks, and what somebody chose in it. Pure.

export interface Choice<Answer> {
  readonly answer?: Answer;
  readonly asked: number; // how often somebody said that it changed
  readonly known?: number; // `asked` when `answer` was asked for
  readonly chosen?: number; // another value than the measured one
  readonly said?: string; // what came of the last thing that was asked for
}

// What was chosen stays while there is still something to choose from.
export function withAnswer<A>({ chosen, ...rest }: Choice<A>, answer: A, asked: number, keeps: boolean): Choice<A> {
  return { ...rest, ...(chosen !== undefined && keeps ? { chosen } : {}), answer, known: asked };
}

export function askedAgain<A>({ said: _said, ...rest }: Choice<A>): Choice<A> {
  return { ...rest, asked: rest.asked + 1 };
}

export function withChosen<A>({ chosen: _chosen, said: _said, ...rest }: Choice<A>, chosen: number | undefined): Choice<A> {
  return chosen === undefined ? rest : { ...rest, chosen };
}

// `done`: what was chosen is made, and is a choice no more.
export function withSaid<A>({ chosen, ...rest }: Choice<A>, text: string, done = false): Choice<A> {
  return { ...rest, ...(done || chosen === undefined ? {} : { chosen }), said: text };
}
