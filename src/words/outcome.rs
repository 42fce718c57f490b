use domain::ModeName;

texts! {
    /// What a shopper reads after getting a unit or none, and where to go from there.
    OutcomeText {
        won: "抢到了！", "You got it!";
        won_draw: "中签了！", "You won the draw!";
        won_waiting_room: "轮到你了，买到了！", "Your turn, and it’s yours!";
        number: "第 {} 位抢到", "No. {}";
        number_of: "共 {} 件", "of {}";
        units: "{} 件", "{} units";
        keep_until: "付款前为你保留", "Yours until you pay";
        onward: "还有机会", "More chances";
        current: "正在和即将开售", "On now and coming up";
        next_again: "去同款的下一场", "Go to the next sale of this product";
        other_variant: "另一款式", "Another variant";
        again: "同款另一场", "Same product again";
        mode_draw: "抽签", "Draw";
        mode_rush: "秒杀", "Flash sale";
        mode_waiting_room: "等候室", "Waiting room";
        again_short: "同款还有一场，去看看", "There is another sale of this product";
        others_short: "看看还有哪些机会", "See where you still have a chance";
        lost: "接下来可以", "What you can do now";
        see_sale: "看看本场还有没有", "See if any are left in this sale";
        wait: "加入本场候补", "Join this sale’s waitlist";
        all_sales: "全部秒杀", "All sales";
    }
}

impl OutcomeText {
    /// How a sale is sold, in a word or two.
    pub fn mode(&self, mode: ModeName) -> &'static str {
        match mode {
            ModeName::Rush => self.mode_rush,
            ModeName::WaitingRoom => self.mode_waiting_room,
            ModeName::Draw => self.mode_draw,
        }
    }
}
