// The server's commands, see protocol/MESSAGES.md.
export const SERVER_PROFILE = 'hotlens.server.profile';
export const SERVER_ARGUMENTS = 'hotlens.server.setArguments';
export const SERVER_CHOOSE_RUN = 'hotlens.server.chooseRun';
export const SERVER_CHOOSE_INTERPRETER = 'hotlens.server.chooseInterpreter';
export const SERVER_WHAT_IF = 'hotlens.server.whatIf';
export const SERVER_VERIFY = 'hotlens.server.verify';
export const SERVER_TELL_AGAIN = 'hotlens.server.tellAgain';
export const SERVER_HINT_UNIT = 'hotlens.server.hintUnit';
export const SERVER_CANCEL = 'hotlens.server.cancel';
export const SERVER_HOT_LINE = 'hotlens.server.hotLine';
export const SERVER_SHOW_PROFILE = 'hotlens.server.showProfile';
export const SERVER_BASELINE = 'hotlens.server.setBaseline';
export const SERVER_CALLS = 'hotlens.server.calls';
export const SERVER_DESCRIBE = 'hotlens.server.describe';
export const SERVER_TIMELINE = 'hotlens.server.openTimeline';
