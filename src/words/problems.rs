//! Texts of error codes.

use domain::{Ineligible, Locale, Refusal};

/// The texts of one error code.
#[derive(Debug)]
pub struct Problem {
    pub code: &'static str,
    zh: [&'static str; 2],
    en: [&'static str; 2],
}

impl Problem {
    pub(crate) const fn new(code: &'static str, zh: [&'static str; 2], en: [&'static str; 2]) -> Problem {
        Problem { code, zh, en }
    }

    fn words(&self, locale: Locale) -> [&'static str; 2] {
        match locale {
            Locale::Zh => self.zh,
            Locale::En => self.en,
        }
    }

    /// A headline of a few words.
    pub fn title(&self, locale: Locale) -> &'static str {
        self.words(locale)[0]
    }

    /// One or two sentences: what happened, and what the user can do.
    pub fn text(&self, locale: Locale) -> &'static str {
        self.words(locale)[1]
    }
}

/// The texts for unknown codes.
static UNKNOWN: Problem = Problem::new(
    "internal",
    ["出了点问题", "系统出错了，请稍后再试。"],
    ["Something went wrong", "An error occurred on our side. Please try again in a moment."],
);

#[rustfmt::skip]
static PROBLEMS: &[Problem] = &[
    Problem::new("not_signed_in", ["请先登录", "登录后才能继续。"],
        ["Please log in", "You need to be logged in for this."]),
    Problem::new("bad_link", ["链接已失效", "链接已过期、已使用过，或已有更新的邮件。请重新获取。"],
        ["This link no longer works", "It has expired, was used already, or a newer email was sent. Please request another one."]),
    Problem::new("no_mail_address", ["没有邮箱", "该账号没有已验证的邮箱。"],
        ["No email address", "This account has no verified email address."]),
    Problem::new("paused", ["已暂停", "本场秒杀已暂停，请稍后再来。"],
        ["Paused", "This sale is paused. Please check back in a moment."]),
    Problem::new("not_a_rush", ["不是抢购场次", "只有抢购场次可以与外部店铺对照。"],
        ["Not first come, first served", "Only sales that sell to the first who ask are compared with another shop."]),
    Problem::new("below_sold", ["库存低于已售", "已售出或已预留的件数超过所填的库存。"],
        ["Fewer than are sold", "More units are sold or reserved already than the sale would have."]),
    Problem::new("units_allotted", ["库存已分到各桶", "拆分的场次进行中，这些库存已分到各桶，可能正在售出。"],
        ["Buckets have these units", "The running sale is split, and its buckets may be selling these units."]),
    Problem::new("no_such_packet", ["红包不存在", "该红包不存在，请检查链接。"],
        ["No such red packet", "This red packet doesn’t exist. Please check the link."]),
    Problem::new("packet_not_open", ["红包还未开抢", "请到开抢时间再来。"],
        ["Not open yet", "This red packet opens later. Please come back then."]),
    Problem::new("packet_empty", ["手慢了", "红包已被抢光。"],
        ["All gone", "All shares of this red packet have been claimed."]),
    Problem::new("packet_expired", ["红包已过期", "未领取的金额已退回。"],
        ["Red packet expired", "This red packet has expired. Unclaimed money went back to the sender."]),
    Problem::new("too_many_packets", ["红包太多", "进行中的红包已达上限，请等其中一些结束后再发。"],
        ["Too many red packets", "You have reached the limit of open red packets. Please wait until some are over."]),
    Problem::new("own_packet", ["这个红包你不能领", "发红包的人以及与其关联的账号不参与领取。"],
        ["Not for you", "Who gave this red packet takes no part in it, and neither do accounts linked to them."]),
    Problem::new("account_too_new", ["账号注册太晚", "本场只限更早注册的账号参与。"],
        ["Account too new", "Only accounts that were registered earlier can take part in this sale."]),
    Problem::new("contact_not_verified", ["请先验证邮箱", "本场要求账号有已验证的邮箱。"],
        ["Please confirm an email address", "This sale asks for an account with a confirmed email address."]),
    Problem::new("contact_taken", ["邮箱已参与", "已有其他账号用这个邮箱参与本场，同一邮箱只限一个账号。"],
        ["Mailbox already taking part", "Another account takes part with your mailbox. This sale allows one account each."]),
    Problem::new("address_needed", ["请先添加收货地址", "本场同一收货地址只限一个账号，请先在账号中保存地址。"],
        ["Please add an address", "This sale allows one account per delivery address. Please save yours first."]),
    Problem::new("shipping_address_needed", ["请先填写收货地址", "运费按收货地址计算，请先为订单选择收货地址再付款。"],
        ["Please add a delivery address", "Shipping depends on where it goes. Please choose the order’s address before you pay."]),
    Problem::new("address_taken", ["地址已参与", "已有其他账号用你的默认地址参与本场。如果地址有误，请修改后再试。"],
        ["Address already taking part", "Another account takes part with your default address. If that address is wrong, correct it and try again."]),
    Problem::new("other_address", ["只能寄到参与时的地址", "本场同一收货地址只限一个账号，订单须寄到你参与时的地址；收件人和电话可以修改。"],
        ["The address is fixed", "This sale allows one account per delivery address, so the order goes to the one you took part with. Recipient and phone may change."]),
    Problem::new("invitation_needed", ["需要邀请码", "本场须有邀请码（F 码），请先使用你的邀请码。"],
        ["Invitation code needed", "This sale asks for an invitation code. Please use yours first."]),
    Problem::new("deposit_needed", ["余额不足以暂存保证金", "本场需要从钱包暂存一笔可全额退回的保证金。请先充值。"],
        ["Not enough for the deposit", "This sale sets a deposit aside from your wallet, which you get back in full. Please top up first."]),
    Problem::new("bad_invitation", ["邀请码无效", "没有这个邀请码，或它已被使用或作废。请核对后再试。"],
        ["This code doesn’t work", "There is no such code for this sale, or it was used or revoked. Please check it and try again."]),
    Problem::new("too_many_streams", ["打开的窗口太多", "实时数据连接数已达上限，请先关闭其他窗口。"],
        ["Too many live views", "The maximum number of live views is open. Please close one and try again."]),
    Problem::new("no_such_queue", ["无需排队", "本场不用排队，或尚未公布。"],
        ["No waiting room", "This sale has no waiting room, or has not been announced."]),
    Problem::new("not_in_queue", ["尚未排队", "这个账号没有在本场排队。"],
        ["Not in line", "This account has no place in line."]),
    Problem::new("pass_needed", ["请先排队", "轮到你之后才能进入店铺。"],
        ["Please wait in line", "The shop opens to you when your turn comes."]),
    Problem::new("bad_pass", ["通行证无效", "通行证不属于本场，或已过期。"],
        ["Pass not valid", "The pass is for another sale, or has expired."]),
    Problem::new("sold_elsewhere", ["请到店铺下单", "本场只负责排队，轮到你后请进入店铺下单。"],
        ["Sold in another shop", "This sale keeps the line only. When your turn comes, go on to the shop and buy there."]),
    Problem::new("pass_used", ["通行证已使用", "这次轮到你的通行证已经用过。"],
        ["Pass already used", "The pass of your turn was used before."]),
    Problem::new("passes_spent", ["你已进入店铺", "这次轮到你的通行证已经用过，请回到刚才打开的店铺页面继续。"],
        ["You are in already", "The pass of your turn was used. Please go on in the page of the shop that opened."]),
    Problem::new("no_such_draw", ["没有这场抽签", "本场不是抽签，或尚未公布。"],
        ["No such draw", "This sale is not a draw, or has not been announced."]),
    Problem::new("not_entered", ["尚未报名", "这个账号没有报名本场抽签。"],
        ["Not entered", "This account has not entered the draw."]),
    Problem::new("no_waitlist", ["本场没有候补", "本场的商品不以候补方式分配。"],
        ["No waitlist", "This sale has no waitlist."]),
    Problem::new("not_waiting", ["尚未候补", "这个账号没有加入本场的候补。"],
        ["Not on the waitlist", "This account has not joined the waitlist of this sale."]),
    Problem::new("not_sold_out", ["还有货", "商品还没抢光，现在就可以直接购买。"],
        ["Still available", "There are units left, so you can buy one now."]),
    Problem::new("has_order", ["已有订单", "这个账号已有本场的订单，请到“我的订单”查看。"],
        ["You have an order", "This account has an order of this sale. Please see your orders."]),
    Problem::new("not_locked", ["名单未锁定", "报名名单锁定后公布。"],
        ["List not locked yet", "The list of entries is published once it is locked."]),
    Problem::new("not_drawn", ["尚未抽签", "抽签结束后公布证明。"],
        ["Not drawn yet", "The proof is published once the draw has been held."]),
    Problem::new("entries_locked", ["名单已锁定", "名单已锁定或抽签已取消，不能再排除报名。"],
        ["List locked", "The list is locked or the draw was called off, so no entry can be excluded any more."]),
    Problem::new("round_not_overdue", ["公开随机数尚未逾期", "只有等待公开随机数、且已逾期一小时的抽签可以取消或改用之后的一轮。"],
        ["The round is not overdue", "Only a draw whose public round is an hour overdue can be called off or await a later round."]),
    Problem::new("round_not_awaited", ["不在等待随机数", "这场抽签现在不需要公开随机数。"],
        ["No round awaited", "The draw awaits no public round now."]),
    Problem::new("bad_credentials", ["登录失败", "用户名或密码不正确。"],
        ["Login failed", "Incorrect username or password."]),
    Problem::new("totp_required", ["请输入验证码", "密码正确，请再输入验证器上的验证码。"],
        ["Verification required", "Please enter a code from your authenticator app."]),
    Problem::new("bad_code", ["验证码无效", "验证码不正确、已过期或已使用过，请输入新的验证码。"],
        ["Invalid code", "The code is wrong, expired or already used. Please enter a new one."]),
    Problem::new("bad_passkey", ["通行密钥无效", "没有识别出这个通行密钥，请重试，或使用密码登录。"],
        ["Passkey not accepted", "This passkey wasn’t recognized. Please try again, or use your password."]),
    Problem::new("passkey_needed", ["请使用通行密钥", "店主要求员工使用两步验证，请用通行密钥登录。"],
        ["Passkey needed", "The shop requires more than a password of its staff. Please log in with your passkey."]),
    Problem::new("too_many_passkeys", ["通行密钥已达上限", "最多可以添加 10 个通行密钥，请先移除一个。"],
        ["Too many passkeys", "An account can have 10 passkeys. Remove one first."]),
    Problem::new("passkey_taken", ["通行密钥已被使用", "这个通行密钥已属于某个账号。"],
        ["Passkey already in use", "This passkey already belongs to an account."]),
    Problem::new("passkeys_off", ["无法使用通行密钥", "本站地址不支持通行密钥，请使用密码。"],
        ["Passkeys unavailable", "Passkeys can’t be used at this address. Please use your password."]),
    Problem::new("blocked", ["账号已被停用", "你的账号已被停用。已有订单不受影响，如有疑问请联系客服。"],
        ["Account blocked", "Your account has been blocked. Existing orders aren’t affected. Please contact support."]),
    Problem::new("password_expired", ["临时密码已过期", "请联系店主重置密码。"],
        ["Temporary password expired", "Please ask an owner of the shop for a new one."]),
    Problem::new("second_factor_required", ["请先开启两步验证", "请先为自己的账号开启两步验证，再使用管理功能。"],
        ["Set up two-step verification", "Please set up two-step verification of your own account first."]),
    Problem::new("must_change_password", ["请先修改密码", "请先到“我的账号”页面设置自己的密码，再使用管理功能。"],
        ["Set your own password", "Please set your own password on your account page first."]),
    Problem::new("step_up_needed", ["请再次验证身份", "此操作需要再次输入密码。"],
        ["Please confirm it’s you", "This needs your password again."]),
    Problem::new("orders_open", ["还有未完成的订单", "请先付款或取消待付款订单，或等待退款完成，再删除账号。"],
        ["You have open orders", "Pay or cancel unpaid orders, or wait for your refund, before you delete the account."]),
    Problem::new("staff_account", ["员工账号不能删除", "请先由店主撤销员工身份，再删除账号。"],
        ["Staff accounts can’t be deleted", "An owner has to remove you from staff before you can delete the account."]),
    Problem::new("last_owner", ["这是最后一位店主", "商店至少要有一位可用的店主，请先设置另一位店主。"],
        ["The last owner", "The shop needs at least one active owner. Please add another owner first."]),
    Problem::new("yourself", ["不能对自己操作", "请由另一位员工操作。"],
        ["Not on yourself", "Another staff member has to do this."]),
    Problem::new("proof_needed", ["暂时不能注册", "你的网络最近注册了很多账号，请稍候再试一次。"],
        ["Can’t register yet", "Many accounts were just created from your network. Please try once more in a moment."]),
    Problem::new("username_taken", ["用户名已被占用", "该用户名已被占用，请换一个。"],
        ["Username taken", "This username is already taken. Please choose another."]),
    Problem::new("bad_username", ["用户名无效", "用户名须为 3 到 32 个字母、数字或 _ - . 字符，字母须属于同一种文字。"],
        ["Invalid username", "A username has 3 to 32 letters of one alphabet, digits, dots, hyphens or underscores."]),
    Problem::new("weak_password", ["密码太弱", "密码须为 8 到 256 个字符（员工至少 12 个），且不能是常见密码、用户名、简单的重复或连续字符。"],
        ["Password too weak", "A password has 8 to 256 characters (12 or more for staff), and isn’t a common password, your username, a repetition or a sequence."]),
    Problem::new("not_cancellable", ["无法取消", "订单当前状态不能取消。"],
        ["Can’t be cancelled", "This order can no longer be cancelled."]),
    Problem::new("not_refundable", ["无法退款", "只有已付款的订单可以退款；已发货的订单不能整单退款，请用部分退款，或等退货收到。"],
        ["Can’t be refunded", "Only paid orders can be refunded. One that was sent can’t be refunded as a whole: refund it in part, or receive its return."]),
    Problem::new("invoice_issued", ["发票已开具", "发票已经开具，不能再更改。请联系商家。"],
        ["Already issued", "The invoice was issued, so it can’t be changed here. Please contact the shop."]),
    Problem::new("not_paid", ["订单未付款", "付款后才能打包和发货。"],
        ["Not paid yet", "The order isn’t paid, so there is nothing to pack or send."]),
    Problem::new("order_ended", ["订单已结束", "订单已取消或退款，不能发货。"],
        ["The order is over", "It was cancelled or refunded, so nothing is sent."]),
    Problem::new("order_held", ["订单审核中", "放行后才能打包和发货。"],
        ["The order is held", "Release it before packing or sending it."]),
    Problem::new("no_address", ["没有收货地址", "买家填写收货地址后才能打包和发货。"],
        ["No delivery address", "Pack and send it once its buyer has given an address."]),
    Problem::new("no_such_step", ["包裹状态不符", "包裹目前的状态不能这样更改。"],
        ["Not possible now", "The parcel can’t go there from where it is."]),
    Problem::new("not_returnable", ["不能退货", "只有已送达的订单可以退货，且须在退货期限内。"],
        ["Can’t be returned", "Only a delivered order can be returned, and only within the days that the shop allows."]),
    Problem::new("wrong_return_state", ["退货状态已改变", "退货目前的状态不允许此操作，请查看最新状态。"],
        ["The return has changed", "This isn’t possible where the return is now. Please look at its present state."]),
    Problem::new("payment_disputed", ["付款有争议", "付款人或其银行可能已收回这笔钱，再退款可能会退两次。确认后仍可退款。"],
        ["The payment is disputed", "The payer or their bank may have the money back already, so a refund may pay twice. Confirm it to refund all the same."]),
    Problem::new("awaits_approval", ["已有退款待复核", "该订单或付款已有一笔退款待另一位员工复核，请先批准或拒绝那一笔。"],
        ["A refund already waits", "Another refund of this order or payment waits for a second person. Approve or decline that one first."]),
    Problem::new("address_fixed", ["地址不能更改", "只有待付款的订单可以更改收货地址；已付款但没有地址的订单可以补填。"],
        ["Address can’t be changed", "The delivery address can only be changed while the order awaits payment. A paid order without one can still get it."]),
    Problem::new("too_many_addresses", ["地址太多", "最多保存 20 个地址，请先删除一个。"],
        ["Too many addresses", "You can save up to 20 addresses. Please delete one first."]),
    Problem::new("not_payable", ["无法付款", "订单已付款、已取消或已超时。"],
        ["Can’t be paid", "This order is already paid, cancelled or expired."]),
    Problem::new("payments_off", ["暂不支持在线支付", "本店目前没有开通在线支付，可用钱包余额付款。"],
        ["Online payment is off", "The shop takes no online payments at the moment. You can pay from your wallet."]),
    Problem::new("spending_limit", ["超出额度", "你的角色在 24 小时内可动用的商店资金已用完，请联系店主。"],
        ["Over your limit", "Your role can spend only so much of the shop’s money within 24 hours. Please ask an owner."]),
    Problem::new("not_enough", ["余额不足", "钱包余额不足，请先充值。"],
        ["Insufficient balance", "Your wallet balance is too low. Please top up first."]),
    Problem::new("wallet_not_empty", ["还有余额", "钱包或未领完的红包里还有钱，请先花完，或确认放弃。"],
        ["You still have money", "Money is left in your wallet or in an open red packet. Spend it first, or confirm that you give it up."]),
    Problem::new("not_allowed", ["没有权限", "你的角色不能进行此操作，请联系店主。"],
        ["Not allowed", "Your role doesn’t allow this. Please ask the shop’s owner."]),
    Problem::new("not_found", ["页面不存在", "没有找到你要的内容。"],
        ["Page not found", "We couldn’t find what you’re looking for."]),
    Problem::new("cross_site", ["请求被拒绝", "请求来自其他网站，为了你的安全已拒绝。"],
        ["Request refused", "The request came from another site and was refused to protect you."]),
    Problem::new("too_large", ["内容太大", "提交的内容超过了大小限制。"],
        ["Too large", "What you sent is larger than the shop accepts."]),
    Problem::new("wrong_state", ["状态已改变", "当前状态不允许此操作，请刷新后再试。"],
        ["State has changed", "This isn’t possible in the current state. Please reload and try again."]),
    Problem::new("overlap", ["时间冲突", "同一商品在该时间段已有其他场次。"],
        ["Overlapping sale", "The same product is already on sale at that time."]),
    Problem::new("changed_meanwhile", ["已被他人修改", "有人刚刚修改了本场次。你填写的内容仍在下方，请核对后再保存。"],
        ["Changed in the meantime", "Someone else just changed this sale. Your input is still below: please review it, then save."]),
    Problem::new("stale_version", ["已被他人修改", "有人刚刚修改了这里。页面已显示最新内容，请核对后再操作。"],
        ["Changed in the meantime", "Someone else just changed this. The page shows it as it is now: please check, then try again."]),
    Problem::new("too_many_questions", ["待答复的提问已达上限", "每个账号最多有 5 个待答复的提问。请等待答复，或先撤回一个。"],
        ["Too many open questions", "You can have 5 questions waiting for an answer. Please wait for one, or withdraw one first."]),
    Problem::new("already_answered", ["提问已答复", "提问已经得到答复，不能再撤回。"],
        ["Already answered", "The question has been answered, so it can’t be withdrawn any more."]),
    Problem::new("question_hidden", ["提问已隐藏", "恢复后才能答复。"],
        ["Question hidden", "Show it again before you answer it."]),
    Problem::new("idempotency_key_reused", ["表单已提交过", "这份表单之前已用其他内容提交过，请重新打开页面再填写。"],
        ["Already submitted", "This form was already submitted with other values. Please open the page again."]),
    Problem::new("request_under_way", ["正在处理", "上一次提交仍在处理，请稍后查看结果。"],
        ["Still in progress", "Your first submission is still being processed. Please check the result in a moment."]),
    Problem::new("has_begun", ["已经开始", "本场次已经开始，只能加库存、暂停或终止。"],
        ["Already started", "This sale has started. You can only add stock, pause or stop it."]),
    Problem::new("in_past", ["时间已过", "开始时间已过，请先修改时间。"],
        ["Time has passed", "The start time has passed. Please change it first."]),
    Problem::new("cursor_expired", ["内容已过期", "请从头开始读取。"],
        ["Too old", "Please start from the beginning."]),
    Problem::new("goods_archived", ["商品已归档", "该商品已归档，请先恢复再开售。"],
        ["Product is archived", "Restore the product before you sell it."]),
    Problem::new("too_many_categories", ["分类太多", "最多 50 个分类，请先删除一个。"],
        ["Too many categories", "The shop can have 50 categories. Please delete one first."]),
    Problem::new("goods_on_sale", ["商品在售", "该商品有进行中或已排期的场次，请先终止场次再归档。"],
        ["Product is on sale", "It has a live or scheduled sale. Stop that sale first, then archive the product."]),
    Problem::new("bad_request", ["请求无效", "提交的内容无法识别，请返回后再试。"],
        ["Invalid request", "We couldn’t read what was sent. Please go back and try again."]),
    Problem::new("bad_json", ["请求无效", "提交的内容无法识别，请刷新页面后再试。"],
        ["Invalid request", "We couldn’t read what was sent. Please reload the page and try again."]),
    Problem::new("invalid", ["内容有误", "部分内容无效，请检查后再提交。"],
        ["Please check your input", "Some values aren’t valid. Please check them."]),
    Problem::new("bad_signature", ["签名无效", "通知的签名无效。"],
        ["Invalid signature", "The signature of the notification isn’t valid."]),
    Problem::new("bad_api_token", ["令牌无效", "访问令牌不存在、已撤销或已过期。"],
        ["Token not valid", "The access token is unknown, revoked or expired."]),
    Problem::new("scope_missing", ["令牌权限不足", "访问令牌没有此操作所需的权限。"],
        ["Token lacks a scope", "The access token doesn’t have the scope for this."]),
    Problem::new("foreign_network", ["网络不允许", "该访问令牌不能在此网络使用。"],
        ["Network not allowed", "The access token can’t be used from this network."]),
    Problem::new("bad_entry", ["入口链接已失效", "链接已过期或已使用过。请返回原来的商店重新进入。"],
        ["This entry link no longer works", "It has expired or was used already. Please go back to the shop you came from."]),
    Problem::new("no_such_shopper", ["没有这位顾客", "尚未登记该外部顾客。"],
        ["No such shopper", "No shopper with this id has been named yet."]),
    Problem::new("reservation_expired", ["预留已过期", "预留时间已过，数量已退回。"],
        ["Reservation expired", "Its time is over, and its units went back on sale."]),
    Problem::new("reservation_released", ["预留已释放", "预留已释放或取消，数量已退回。"],
        ["Reservation released", "It was released or cancelled, and its units went back on sale."]),
    Problem::new("reservation_confirmed", ["预留已确认", "该预留已用另一个订单号确认，只能在后台取消。"],
        ["Reservation confirmed", "It was confirmed with another reference, or can only end in the console."]),
    Problem::new("reference_taken", ["订单号已使用", "另一个预留已用此外部订单号确认。"],
        ["Reference taken", "Another reservation was confirmed with this reference."]),
    Problem::new("reservation_too_long", ["时间太长", "一次预留最长一小时。"],
        ["Too long", "A reservation lives for an hour at most."]),
    Problem::new("token_name_taken", ["名称已被占用", "已有同名的访问令牌。"],
        ["Name taken", "Another access token has this name."]),
    Problem::new("too_many_tokens", ["令牌太多", "请先撤销一个不用的访问令牌。"],
        ["Too many tokens", "Please revoke a token that you no longer use."]),
    Problem::new("method_not_allowed", ["无法直接打开", "这个地址只能通过页面上的按钮访问。"],
        ["Not a page", "This address only works through a button in the shop."]),
    Problem::new("request_timeout", ["请求超时", "内容没有及时送达，请再试一次。"],
        ["Request timed out", "Your request didn’t arrive in time. Please try again."]),
    Problem::new("unsupported_media_type", ["格式不支持", "提交的内容格式不受支持。"],
        ["Unsupported format", "The shop doesn’t accept this format."]),
    Problem::new("unavailable", ["服务暂不可用", "商店的某项服务暂时不可用，你的订单不会丢失，请稍后再试。"],
        ["Temporarily unavailable", "One of our services is down. Your orders are safe; please try again shortly."]),
    Problem::new("not_confirmed", ["未确认", "请勾选确认后再提交。"],
        ["Not confirmed", "Please tick the box to confirm."]),
    Problem::new("not_the_number", ["编号不符", "输入的编号不符。"],
        ["Not the same", "What you typed doesn’t match."]),
];

/// The texts of a code. An unknown code gets the texts of `internal`.
pub fn problem(code: &str) -> &'static Problem {
    all().find(|p| p.code == code).unwrap_or(&UNKNOWN)
}

fn all() -> impl Iterator<Item = &'static Problem> {
    REFUSALS.iter().map(|(problem, _)| problem).chain(PROBLEMS)
}

// Words of refusals, one row each: for the shopper who is refused, and for the cockpit, which counts them.

/// In each language title and text for the shopper, and a few words for the cockpit.
const fn row(refusal: Refusal, zh: [&'static str; 3], en: [&'static str; 3]) -> (Problem, [&'static str; 2]) {
    (Problem::new(refusal.as_str(), [zh[0], zh[1]], [en[0], en[1]]), [zh[2], en[2]])
}

/// In the order of the lines in the cockpit's plot, whose first six differ in color. New rows go to the end.
#[rustfmt::skip]
pub(crate) static REFUSALS: [(Problem, [&str; 2]); Refusal::ALL.len()] = [
    row(Refusal::SoldOut, ["已售罄", "商品已抢光。退回的商品先给候补的人，可到商品页加入候补。", "售罄"],
        ["Sold out", "Everything is taken. Items that come back go to the waitlist first: you can join it on the page of the sale.", "sold out"]),
    row(Refusal::Busy, ["抢购火爆", "排队人数较多，可能还有库存，请再试一次。", "排队已满"],
        ["High demand", "Many people are ahead of you. There may still be stock, so please try again.", "busy"]),
    row(Refusal::NotOpen, ["尚未开始", "秒杀还没开始，请留意开抢时间。", "未开始"],
        ["Not open yet", "The sale hasn’t started. Please check the start time.", "not open"]),
    row(Refusal::RateLimited, ["操作太频繁", "请稍等几秒再试。", "请求过于频繁"],
        ["Too many requests", "Please wait a few seconds and try again.", "rate limited"]),
    row(Refusal::BadToken, ["请重新抢购", "抢购凭证已过期，请再点一次按钮。", "凭证无效"],
        ["Please try again", "Your turn has expired. Please press the button again.", "invalid token"]),
    row(Refusal::OverLimit, ["超过限购", "购买数量超过每人限购数。", "超过限购"],
        ["Over the limit", "That’s more than the limit per person.", "over the limit"]),
    row(Refusal::Ended, ["已结束", "本场秒杀已结束。", "已结束"],
        ["Sale ended", "This sale has ended.", "ended"]),
    row(Refusal::Overloaded, ["系统繁忙", "当前访问人数过多，请稍后再试。", "系统繁忙"],
        ["The shop is busy", "We can’t keep up right now. Please try again shortly.", "overloaded"]),
    row(Refusal::BadQuantity, ["数量无效", "请选择有效的购买数量。", "数量无效"],
        ["Invalid quantity", "Please choose a valid quantity.", "invalid quantity"]),
    row(Refusal::NoSuchSale, ["活动不存在", "该秒杀不存在或已下架。", "场次不存在"],
        ["No such sale", "This sale doesn’t exist or has been taken down.", "no such sale"]),
    row(Refusal::TooEarly, ["还没轮到你", "开抢后每个账号各有一个随机时刻，抢得快不占便宜。到你的时刻再点即可。", "未到个人时刻"],
        ["Not your moment yet", "After the start each account has a random moment of its own, so speed wins nothing. Press again at yours.", "before their moment"]),
    row(Refusal::ByDraw, ["本场为抽签", "本场不抢购：开放期间报名，结束后抽签决定谁能购买。", "抽签场次"],
        ["This sale is a draw", "There is nothing to rush for: enter while it is open, and a draw decides who may buy.", "a draw"]),
    row(Refusal::NotCalled, ["还没轮到你", "本场按随机顺序排队叫号，叫到你时才能购买。", "未叫到号"],
        ["Not your turn", "This sale has a waiting room with a random order. You can buy once you are called.", "not their turn"]),
];

/// The problems that can answer a purchase, for the script of a sale's page.
pub fn refusals() -> impl Iterator<Item = &'static Problem> {
    // `paused` is the script's own: the shop answers `not_open`.
    let others = Ineligible::ALL.into_iter().map(Ineligible::as_str).chain(["paused", "cross_site", "internal"]);
    REFUSALS.iter().map(|(problem, _)| problem).chain(others.map(problem))
}

/// Code and name of each refusal, for the cockpit, in the order of its plot.
pub fn refusal_reasons(locale: Locale) -> impl Iterator<Item = (&'static str, &'static str)> {
    REFUSALS.iter().map(move |(problem, [zh, en])| (problem.code, if locale == Locale::Zh { *zh } else { *en }))
}

// Texts of invalid form fields.

#[rustfmt::skip]
static FIELD_ERRORS: &[(&str, &str, &str)] = &[
    ("bad_endpoint", "浏览器的推送地址或密钥无效。", "The push address or key of the browser is not valid."),
    ("bad_webhook_url", "请填写公网上的 https 地址。", "Enter an https address on the public internet."),
    ("bad_events", "请至少选择一种事件。", "Choose at least one event."),
    ("too_many_webhooks", "最多 20 个接收地址，请先删除一个。", "There can be 20 endpoints. Delete one first."),
    ("bad_mail_address", "请输入有效的邮箱地址。", "Please enter a valid email address."),
    ("wrong_password", "密码不正确。", "Incorrect password."),
    ("weak_password", "密码须为 8 到 256 个字符（员工至少 12 个），且不能是常见密码、用户名、简单的重复或连续字符。", "A password has 8 to 256 characters (12 or more for staff), and isn’t a common password, your username, a repetition or a sequence."),
    ("not_your_name", "与你的用户名不一致。", "This doesn’t match your username."),
    ("passkey_needed", "店主要求员工使用两步验证，请使用通行密钥。", "The shop requires more than a password. Please use your passkey."),
    ("bad_code", "验证码不正确、已过期或已使用过。", "The code is wrong, expired or already used."),
    ("wait", "尝试次数过多，请稍后再试。", "Too many attempts. Please wait a moment."),
    ("username_taken", "该用户名已被占用。", "This username is already taken."),
    ("bad_username", "用户名须为 3 到 32 个字母、数字或 _ - . 字符，字母须属于同一种文字。", "A username has 3 to 32 letters of one alphabet, digits, dots, hyphens or underscores."),
    ("bad_role", "请选择角色。", "Please choose a role."),
    ("confirm", "请勾选确认。", "Please tick the box to confirm."),
    ("after_opening", "不能晚于开抢时间。", "This must not be after the start."),
    ("bad_invitation", "请输入完整的邀请码。", "Please enter the whole code."),
    ("too_many_invitations", "每场最多 10 万个邀请码。", "A sale has at most 100,000 codes."),
    ("bad_count", "数量不符。", "This isn’t the number of items."),
    ("required", "必填。", "Required."),
    ("too_long", "内容太长。", "Too long."),
    ("question_too_short", "请至少写 5 个字。", "Please write at least 5 characters."),
    ("question_too_long", "最多 300 字。", "Please keep it to 300 characters."),
    ("answer_too_long", "最多 1000 字。", "Please keep it to 1,000 characters."),
    ("bad_boolean", "请填写 true 或 false。", "Enter true or false."),
    ("bad_days", "请填写 0 到 60 的整数。", "Enter a whole number from 0 to 60."),
    ("bad_number", "请填写大于零的整数。", "Enter a whole number above zero."),
    ("split_fixed", "场次已载入 Redis，分桶数不能再改。", "The sale is already loaded into Redis, so its buckets can’t be changed."),
    ("bad_buckets", "分桶数须为 1 到 64。", "Enter a number from 1 to 64."),
    ("bad_lot", "请填写不小于零的整数。", "Enter a whole number, zero or more."),
    ("bad_spread", "请填写 0 到 600000 的整数。", "Enter a whole number from 0 to 600000."),
    ("spread_beyond_end", "打散时间比整场秒杀还长，有些账号将无法购买。", "The spread is longer than the sale: some accounts could never buy."),
    ("queue_opening", "排队场次须设开始时间。", "A sale with a waiting room needs a start time."),
    ("bad_queue_prequeue", "提前排队时间最长 24 小时。", "Enter a time of up to 24 h."),
    ("bad_queue_gather", "开始叫号最晚在开抢后 10 分钟。", "Enter a time of up to 10 min."),
    ("bad_queue_seat", "购买时限须为 10 秒到 1 小时。", "Enter a time from 10 s to 1 h."),
    ("mode_has_places", "已有人在本场排队，销售方式不能再改。请结束本场，另建一场。", "People already have places in the waiting room, so the way of selling can’t be changed. End this sale and create another one."),
    ("draw_one_each", "抽签场次每人限购 1 件。", "In a draw each person can buy one."),
    ("draw_window", "抽签场次须设开始和结束时间。", "A draw needs a start and an end time."),
    ("bad_deposit", "请填写 1 到 10000 元；仅限人民币标价的活动。", "Enter ¥1 to ¥10,000. Only sales priced in CNY can have one."),
    ("bad_draw_window", "付款时限须为 1 分钟到 30 天。", "Enter a time from 1 min to 30 d."),
    ("bad_draw_review", "审核时间须为 0 到 604800 秒。", "Enter 0 to 604800 seconds."),
    ("wrong_round", "这不是所等待的随机数。", "This is not the awaited round."),
    ("bad_currency", "请填写有效的币种代码，例如 CNY。", "Enter a currency code such as CNY."),
    ("bad_regions", "请填写省份或州的名称，最多 50 个。", "Enter names of provinces or states, at most 50."),
    ("region_without_country", "填写省份前请先选择国家或地区。", "Choose the country of these provinces or states."),
    ("rate_twice", "同一地区只能有一行运费。", "Another row is about the same place."),
    ("no_rate_elsewhere", "该币种还缺少“其他地区”的运费。", "This currency needs a row for everywhere else."),
    ("too_many_rates", "最多 100 行运费。", "A table has at most 100 rows."),
    ("bad_price", "请填写有效金额，例如 1999 或 19.90。", "Enter an amount such as 1999 or 19.90."),
    ("bad_amount", "请填写有效的金额。", "Enter a valid amount."),
    ("bad_networks", "请填写网络，例如 10.0.0.0/8，最多 20 个。", "Enter networks such as 10.0.0.0/8, at most 20."),
    ("not_in_future", "须晚于现在。", "This has to be later than now."),
    ("in_future", "不能晚于现在。", "This can’t be later than now."),
    ("bad_url", "须为 http 或 https 网址。", "This has to be an http or https address."),
    ("bad_text", "含有不支持的字符。", "Contains unsupported characters."),
    ("too_far", "最晚为 30 天之内。", "Choose a time within the next 30 days."),
    ("bad_time", "请填写有效的日期和时间。", "Enter a valid date and time."),
    ("window_order", "结束时间必须晚于开始时间。", "The sale must end after it starts."),
    ("in_past", "该时间已过。", "This time has passed."),
    ("too_short", "场次至少要持续一分钟。", "A sale must last at least one minute."),
    ("not_lower", "秒杀价不低于原价。请修改，或在下方确认。", "The sale price is not below the list price. Change it, or confirm it below."),
    ("overlap", "同一商品在该时间段已有其他场次。", "The same product is already on sale at that time."),
    ("no_such_goods", "请选择在售商品。", "Choose a product from the list."),
    ("no_such_category", "该分类已被删除，请重新选择。", "This category no longer exists. Choose another one."),
    ("variant_of_variant", "请选择另一件商品，且它本身不是别的商品的款式。", "Choose another product that isn’t itself a variant."),
    ("has_variants", "这件商品已有其他款式，不能再成为别的商品的款式。", "This product has variants, so it can’t be a variant of another one."),
    ("other_categories", "须列出全部分类，每个一次。", "List every category exactly once."),
    ("name_taken", "已有同名分类。", "Another category has this name."),
    ("bad_picture", "图片无法使用，只支持 PNG、JPEG 或 WebP（不支持 SVG、GIF）。",
        "This picture can’t be used. Upload PNG, JPEG or WebP (no SVG or GIF)."),
    ("picture_empty", "文件是空的。", "The file is empty."),
    ("picture_too_large", "文件超过 5 MB，请压缩后再传。", "The file is larger than 5 MB. Make it smaller and upload it again."),
    ("picture_too_many_pixels", "图片尺寸太大：最多 3200 万像素，单边不超过 10000。",
        "The picture is too large: at most 32 million pixels, and 10,000 along a side."),
    ("picture_broken", "图片损坏或不完整，请重新导出后再传。", "The picture is damaged or incomplete. Export it again and upload it once more."),
    ("too_many_pictures", "图片太多：每件商品最多 12 张。", "Too many pictures: a product can have at most 12."),
    ("no_such_picture", "有图片已过期，请重新上传。", "A picture is no longer available. Please upload it again."),
    ("other_pictures", "须列出全部现有图片，每张一次。", "List every current picture exactly once."),
    ("goods_archived", "该商品已归档，请先恢复。", "The product is archived. Restore it first."),
    ("bad_phone", "请填写有效的电话号码，大陆手机为 11 位。", "Enter a valid phone number. In mainland China it has 11 digits."),
    ("bad_postal_code", "邮政编码与所选国家或地区不符。", "This isn’t a valid postal code for the chosen country."),
    ("bad_country", "请选择列表中的国家或地区。", "Choose a country or region from the list."),
    ("bad_id", "编号格式不对，请完整复制。", "This isn’t a complete number. Please copy all of it."),
    ("bad_class", "没有这种类别。", "No such kind."),
    ("bad_network", "请填写一个网络（IPv4 为 /24，IPv6 为 /48）或一个地址。", "Enter a network (/24 of IPv4, /48 of IPv6) or an address."),
    ("bad_status", "没有这种状态。", "No such status."),
    ("time_order", "结束时间必须晚于开始时间。", "The end must be after the start."),
    ("no_such_user", "没有这个用户。", "No such user."),
    ("bad_tracking_number", "运单号为 6 到 32 位字母、数字或 -，且至少有一位数字。", "A tracking number has 6 to 32 letters, digits or hyphens, and at least one digit."),
    ("bad_tax_number", "税号为 18 位数字或大写字母（不含 I、O、S、V、Z）。", "A tax number has 18 digits or capital letters, without I, O, S, V and Z."),
    ("wrong_tax_number", "税号的校验位不符，请核对。", "The check digit doesn’t fit, so something is mistyped."),
    ("old_tax_number", "15 位旧税号已停用，请填写 18 位统一社会信用代码。", "Numbers of 15 digits are no longer in use. Please enter the unified social credit code of 18."),
    ("bad_csv", "无法读取，请另存为 UTF-8 编码的 CSV。", "This can’t be read. Please save it as CSV in UTF-8."),
    ("too_many_lines", "行数太多，请分成几个文件。", "Too many lines. Please split the file."),
    ("bad_state", "请选择包裹状态。", "Please choose where the parcel is."),
    ("exceeds_payment", "超过可退金额。", "More than can still be refunded."),
    ("not_taken", "支付平台退不了这个金额：BHD、JOD、KWD、OMR、TND 须为 0.010 的倍数，MGA 须为整数。",
        "The payment provider can’t return this amount: BHD, JOD, KWD, OMR and TND go in steps of 0.010, MGA in whole units."),
    ("no_wallet", "钱包只支持人民币。", "Wallets hold CNY only."),
    ("top_up_bounds", "单笔充值 1 到 50,000 元。", "A top-up is from ¥1 to ¥50,000."),
    ("too_many_shares", "总金额不够分：每份至少 0.01 元。", "The total is too small: each share is at least ¥0.01."),
    ("spending_limit", "运营员 24 小时内最多动用商店资金 10,000 元，请联系店主。",
        "An operator can spend ¥10,000 of the shop’s money within 24 hours. Please ask an owner."),
    ("amount_too_large", "秒杀价乘以每人限购数太大。", "The price times the limit per person is too large."),
    ("too_many_packets", "进行中的红包已达上限，请等其中一些结束后再发。", "You have reached the limit of open red packets. Please wait until some are over."),
    ("bad_colour", "请填写 #c9301d 这样的颜色。", "Enter a colour such as #c9301d."),
    ("unknown", "不认识这一项，请检查名称。", "There is no such field. Please check its name."),
    ("bad_type", "请填写文字或数字。", "Enter a text or a number."),
    ("bad_return_address", "请填写 https 地址，不带用户名、参数和 #。", "Enter https addresses without a user name, a query or #."),
    ("low_contrast", "这个颜色太浅，白字看不清。", "White text on this colour is hard to read."),
    ("bad_limit", "限购数不能超过总量。", "The limit can’t be more than the total."),
];

/// The text of an invalid form field; the code itself if it is unknown.
pub fn field_error(locale: Locale, code: &'static str) -> &'static str {
    super::text_of(FIELD_ERRORS, locale, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::refusals;

    #[test]
    fn codes_are_unique_and_have_texts() {
        let mut codes: Vec<_> = all().map(|p| p.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all().count());
        assert_eq!(refusals().filter(|p| p.code == "internal").count(), 1, "each refusal has a text");
        for locale in Locale::ALL {
            for p in all() {
                assert!(!p.title(locale).is_empty() && !p.text(locale).is_empty(), "{}", p.code);
            }
        }
        assert_eq!(problem("unknown_code").code, "internal");
    }

    #[test]
    fn field_errors_have_texts_in_both_languages() {
        for (code, ..) in FIELD_ERRORS {
            assert_ne!(field_error(Locale::Zh, code), field_error(Locale::En, code));
        }
        assert_eq!(field_error(Locale::En, "unknown_code"), "unknown_code");
    }
}
